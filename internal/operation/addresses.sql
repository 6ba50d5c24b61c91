SELECT id, payment_id, provider_account
FROM operation
WHERE id = ANY ($1::uuid[])
