SELECT m.id, m.name, m.provider_account, coalesce(m.rate_limit, 0), coalesce(m.rate_burst, 0), m.checks_identifiers,
       m.derives_keys, m.created_at, keys.live
FROM merchant m
         CROSS JOIN LATERAL (SELECT count(*) AS live FROM api_key WHERE merchant_id = m.id AND revoked_at IS NULL) AS keys
WHERE m.id > $1
ORDER BY m.id
LIMIT $2
