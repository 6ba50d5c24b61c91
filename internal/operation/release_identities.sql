WITH invoices AS (DELETE FROM invoice_identity WHERE payment_id = ANY ($1::uuid[]))
DELETE
FROM reference_identity
WHERE payment_id = ANY ($1::uuid[])
