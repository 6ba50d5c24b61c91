INSERT INTO reference_identity (merchant_id, external_reference, payment_id)
SELECT merchant_id, external_reference, payment_id
FROM unnest($1::uuid[], $2::text[], $3::uuid[]) AS wanted (merchant_id, external_reference, payment_id)
ORDER BY merchant_id, external_reference COLLATE "C"
ON CONFLICT DO NOTHING
