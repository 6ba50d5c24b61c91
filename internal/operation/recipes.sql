SELECT DISTINCT recipe
FROM attempt
WHERE operation_id = $1
ORDER BY recipe
LIMIT 100
