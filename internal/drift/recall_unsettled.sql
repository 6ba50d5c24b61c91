-- What was under way at the provider in an earlier scan is asked about again.
INSERT INTO drift_question (scan_id, operation_id, object_id)
SELECT $1, operation_id, object_id
FROM drift_finding
WHERE provider_account = $2
  AND state = 'open'
  AND kind = 'unsettled'
  AND operation_id IS NOT NULL
ORDER BY id
LIMIT $3
ON CONFLICT DO NOTHING
