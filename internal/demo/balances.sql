SELECT account, currency, sum(amount_minor)::bigint
FROM ledger_entry
GROUP BY account, currency
