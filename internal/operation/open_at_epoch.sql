-- What an epoch has not been recorded at yet. An operation that is not final waits to
-- be sent, to be looked at, or for the end of a lease; each has a partial index, so
-- that nothing is read of those that are final.
WITH waiting AS MATERIALIZED (SELECT id FROM operation WHERE next_attempt_at IS NOT NULL AND id > $2
                              UNION
                              SELECT id FROM operation WHERE next_check_at IS NOT NULL AND id > $2
                              UNION
                              SELECT id FROM operation WHERE lease_until IS NOT NULL AND id > $2)
SELECT o.id
FROM waiting
         JOIN operation o ON o.id = waiting.id
         JOIN epoch e ON e.id = $1
WHERE o.created_at <= e.bumped_at
  AND o.state NOT IN ('succeeded', 'failed', 'canceled')
  AND NOT EXISTS (SELECT FROM attempt a WHERE a.operation_id = o.id AND a.epoch_id = e.id)
ORDER BY o.id
LIMIT $3
