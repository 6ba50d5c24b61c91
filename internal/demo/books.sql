SELECT coalesce(sum(amount_minor), 0)::bigint,
       coalesce(sum(amount_minor) FILTER (WHERE amount_minor > 0), 0)::bigint
FROM ledger_entry
