-- The message is used up; from here on the due list brings the operation back.
WITH locked AS MATERIALIZED (SELECT id
                             FROM operation
                             WHERE id = ANY ($1::uuid[])
                               AND state = 'created'
                             ORDER BY payment_id, id
                                 FOR UPDATE)
UPDATE operation o
SET next_attempt_at = payonce_now() + $2::interval,
    reason          = $3,
    updated_at      = payonce_now()
FROM locked
WHERE o.id = locked.id
