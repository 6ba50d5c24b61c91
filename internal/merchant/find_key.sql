SELECT k.hash, m.id, m.name, m.provider_account,
       coalesce(m.rate_limit, 0), coalesce(m.rate_burst, 0), m.checks_identifiers, m.derives_keys
FROM api_key k
         JOIN merchant m ON m.id = k.merchant_id
WHERE k.prefix = $1
  AND k.revoked_at IS NULL
