DELETE
FROM drift_question
WHERE scan_id = $1
  AND operation_id = $2
  AND object_id = $3
