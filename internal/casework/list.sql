-- Ids are time-ordered, so that the oldest comes first. Only one of the two halves is read. In one condition they
-- would share a plan that could not use the index of what is not closed, and read every case there ever was.
WITH page AS MATERIALIZED (
    (SELECT id
     FROM payment_case
     WHERE NOT $1::boolean
       AND state IN ('open', 'working')
       AND ($2::text = '' OR provider_account = $2)
       AND ($3::uuid IS NULL OR payment_id = $3)
       AND ($4::text = '' OR waits_for = $4)
       AND id > $5
     ORDER BY id
     LIMIT $6)
    UNION ALL
    (SELECT id
     FROM payment_case
     WHERE $1::boolean
       AND ($2::text = '' OR provider_account = $2)
       AND ($3::uuid IS NULL OR payment_id = $3)
       AND ($4::text = '' OR waits_for = $4)
       AND id > $5
     ORDER BY id
     LIMIT $6))
SELECT k.id, k.payment_id, k.operation_id, k.kind, k.provider_account, k.amount_minor, k.currency, k.suspended, k.state, k.plan,
       coalesce(k.resolution, ''), k.waits_for, k.provider_object_id, k.version, k.next_step_at, k.created_at, k.updated_at,
       (SELECT h.actor FROM payment_case_history h WHERE h.case_id = k.id AND h.version = k.version),
       (SELECT o.kind FROM operation o WHERE o.id = k.operation_id)
FROM page
         JOIN payment_case k USING (id)
ORDER BY k.id
