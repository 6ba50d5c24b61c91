SELECT id, payment_id, kind, provider_account
FROM operation
WHERE id = ANY ($1::uuid[])
