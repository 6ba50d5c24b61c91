-- What an epoch has not been recorded at yet. An operation that is not final waits to
-- be sent, to be looked at, or for the end of a lease; each has a partial index, so
-- that nothing is read of those that are final. About the forms, see waiting.sql.
WITH waiting AS MATERIALIZED (SELECT id FROM operation WHERE next_attempt_at IS NOT NULL
                              UNION
                              SELECT id FROM operation WHERE next_check_at IS NOT NULL
                              UNION
                              SELECT id FROM operation WHERE lease_until IS NOT NULL)
SELECT o.id
FROM waiting
         CROSS JOIN LATERAL (SELECT id, state, created_at FROM operation WHERE id = waiting.id LIMIT 1) AS o
WHERE waiting.id > $2
  AND o.state NOT IN ('succeeded', 'failed', 'canceled')
  AND o.created_at <= (SELECT bumped_at FROM epoch WHERE id = $1)
  AND (SELECT a.fence FROM attempt a WHERE a.operation_id = o.id AND a.epoch_id = $1 LIMIT 1) IS NULL
ORDER BY o.id
LIMIT $3
