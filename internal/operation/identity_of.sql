SELECT merchant_id, invoice_id, payment_type, external_reference
FROM payment
WHERE id = $1
