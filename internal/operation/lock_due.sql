-- Several workers read the same due list. Each takes what no other holds; rows
-- that are held are somebody's work already, so they are not waited for.
SELECT o.id
FROM operation o
         JOIN payment p ON p.id = o.payment_id
WHERE o.id = ANY ($1::uuid[])
  AND o.next_attempt_at <= payonce_now()
ORDER BY p.id, o.id
    FOR UPDATE OF p, o SKIP LOCKED
