-- NO KEY, because every payment that is accepted meanwhile refers to this row.
SELECT coalesce(rate_limit, 0), coalesce(rate_burst, 0), checks_identifiers, derives_keys
FROM merchant
WHERE id = $1
FOR NO KEY UPDATE
