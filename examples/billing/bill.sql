-- One array per column, one element per payment. Sorted, so that two consumers
-- with the same payments wait for each other and never deadlock. A payment that is
-- there already is left out; the caller compares the counts.
INSERT INTO billed (payment_id, invoice_id, merchant_id, amount_minor, currency, captured_at, event_id)
SELECT payment_id, invoice_id, merchant_id, amount_minor, currency, captured_at, event_id
FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::timestamptz[], $7::uuid[])
	AS captured (payment_id, invoice_id, merchant_id, amount_minor, currency, captured_at, event_id)
ORDER BY payment_id
ON CONFLICT (payment_id) DO NOTHING
