-- As many lines as moves, which are few: a person stands behind each repetition.
SELECT version, coalesce(from_state, ''), to_state, plan, actor, who, reason, created_at
FROM payment_case_history
WHERE case_id = $1
ORDER BY version
