-- A merchant's first key, which is never deleted, stands for all of them: whoever
-- holds its row is the only one that adds a key. The keys are counted in a later
-- statement, which sees what the previous holder committed.
SELECT prefix
FROM api_key
WHERE merchant_id = $1
ORDER BY created_at, prefix
LIMIT 1
FOR UPDATE
