-- Both lines of every posting in one statement: the database checks that each
-- posting balances when the statement ends.
INSERT INTO ledger_entry (operation_id, purpose, case_id, line, account, currency, amount_minor)
SELECT p.operation_id, p.purpose, p.case_id, side.line, CASE side.line WHEN 1 THEN p.debit ELSE p.credit END, p.currency,
       CASE side.line WHEN 1 THEN p.amount ELSE -p.amount END
FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::text[])
         AS p (operation_id, purpose, case_id, debit, credit, amount, currency)
         CROSS JOIN (VALUES (1), (2)) AS side (line)
ORDER BY p.operation_id, p.purpose, side.line
