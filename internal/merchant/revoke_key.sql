UPDATE api_key
SET revoked_at = payonce_now()
WHERE prefix = $1
  AND revoked_at IS NULL
RETURNING merchant_id, (SELECT count(*)
                        FROM api_key other
                        WHERE other.merchant_id = api_key.merchant_id
                          AND other.prefix <> $1
                          AND other.revoked_at IS NULL)
