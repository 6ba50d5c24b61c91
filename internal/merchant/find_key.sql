SELECT k.hash, m.id, m.name, m.provider_account
FROM api_key k
         JOIN merchant m ON m.id = k.merchant_id
WHERE k.prefix = $1
  AND k.revoked_at IS NULL
