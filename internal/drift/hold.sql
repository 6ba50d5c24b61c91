SELECT version
FROM drift_scan
WHERE id = $1
  AND version = $2
  AND finished_at IS NULL
    FOR UPDATE
