INSERT INTO api_key (prefix, merchant_id, hash)
SELECT $1, $2, $3
WHERE (SELECT count(*) FROM api_key WHERE merchant_id = $2 AND revoked_at IS NULL) < $4
