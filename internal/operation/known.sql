SELECT id
FROM operation
WHERE id = ANY ($1::uuid[])
