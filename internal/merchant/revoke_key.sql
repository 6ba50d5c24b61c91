UPDATE api_key
SET revoked_at = payonce_now()
WHERE prefix = $1
  AND revoked_at IS NULL
