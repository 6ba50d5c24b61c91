-- Identities come before payments in the lock order, so whoever may release
-- them locks them before it locks the payment.
WITH invoices AS MATERIALIZED (SELECT 1
                               FROM invoice_identity
                               WHERE payment_id = ANY ($1::uuid[])
                               ORDER BY merchant_id, invoice_id COLLATE "C", payment_type COLLATE "C"
                                   FOR UPDATE),
     refs AS MATERIALIZED (SELECT 1
                           FROM reference_identity
                           WHERE payment_id = ANY ($1::uuid[])
                           ORDER BY merchant_id, external_reference COLLATE "C"
                               FOR UPDATE)
SELECT (SELECT count(*) FROM invoices) + (SELECT count(*) FROM refs)
