-- Inserted in the order of the key, so that two groups never wait for each other.
INSERT INTO invoice_identity (merchant_id, invoice_id, payment_type, payment_id)
SELECT merchant_id, invoice_id, payment_type, payment_id
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) AS wanted (merchant_id, invoice_id, payment_type, payment_id)
ORDER BY merchant_id, invoice_id COLLATE "C", payment_type COLLATE "C"
ON CONFLICT DO NOTHING
