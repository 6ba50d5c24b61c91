UPDATE merchant
SET rate_limit         = nullif($2::integer, 0),
    rate_burst         = nullif($3::integer, 0),
    checks_identifiers = $4,
    derives_keys       = $5
WHERE id = $1
