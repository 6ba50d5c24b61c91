-- Nothing is written and nothing is locked for accounts that exist already,
-- which is nearly always all of them.
INSERT INTO ledger_account (code, currency)
SELECT wanted.code, wanted.currency
FROM unnest($1::text[], $2::text[]) AS wanted (code, currency)
WHERE NOT EXISTS (SELECT FROM ledger_account a WHERE a.code = wanted.code AND a.currency = wanted.currency)
ORDER BY wanted.code COLLATE "C", wanted.currency COLLATE "C"
ON CONFLICT DO NOTHING
