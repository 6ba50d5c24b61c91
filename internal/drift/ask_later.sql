UPDATE drift_question
SET tries = tries + 1
WHERE scan_id = $1
  AND operation_id = $2
  AND object_id = $3
