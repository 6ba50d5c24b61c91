SELECT c.id, c.case_id, c.kind, c.state, provider_may_hold(c.id)
FROM operation c
WHERE c.case_id = ANY ($1::uuid[])
ORDER BY c.case_id, c.id
