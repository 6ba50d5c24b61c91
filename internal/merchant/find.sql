SELECT name, provider_account, coalesce(rate_limit, 0), coalesce(rate_burst, 0), checks_identifiers, derives_keys
FROM merchant
WHERE id = $1
