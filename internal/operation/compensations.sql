-- What was there when commits were lost may have been sent by then.
SELECT c.id, c.case_id, c.kind, c.state, provider_may_hold(c.id),
       c.state = 'created' AND attempts_that_may_return(c.id) = 0 AND NOT provider_may_hold(c.id)
           AND c.created_at > coalesce((SELECT max(bumped_at) FROM epoch), '-infinity')
FROM operation c
WHERE c.case_id = ANY ($1::uuid[])
ORDER BY c.case_id, c.id
