UPDATE drift_scan
SET lease_until = NULL
WHERE id = $1
  AND version = $2
