SELECT operation_id, object_id, tries
FROM drift_question
WHERE scan_id = $1
ORDER BY tries, operation_id, object_id
LIMIT 1
