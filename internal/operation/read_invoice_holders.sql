-- A second statement on purpose: a row that was committed after the insert
-- began is invisible to the insert, although the insert conflicts with it.
SELECT wanted.payment_id, held.payment_id
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) AS wanted (merchant_id, invoice_id, payment_type, payment_id)
         JOIN invoice_identity held USING (merchant_id, invoice_id, payment_type)
