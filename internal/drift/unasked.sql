SELECT operation_id, tries
FROM drift_question
WHERE scan_id = $1
ORDER BY tries, operation_id
LIMIT 1
