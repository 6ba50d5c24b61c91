SELECT prefix, created_at, revoked_at
FROM api_key
WHERE merchant_id = $1
ORDER BY created_at DESC, prefix
LIMIT $2
