SELECT wanted.payment_id, held.payment_id
FROM unnest($1::uuid[], $2::text[], $3::uuid[]) AS wanted (merchant_id, external_reference, payment_id)
         JOIN reference_identity held USING (merchant_id, external_reference)
