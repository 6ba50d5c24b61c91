-- What open_at_epoch.sql would return, counted; everything that is open without an
-- epoch ($1 is null).
WITH waiting AS MATERIALIZED (SELECT id FROM operation WHERE next_attempt_at IS NOT NULL
                              UNION
                              SELECT id FROM operation WHERE next_check_at IS NOT NULL
                              UNION
                              SELECT id FROM operation WHERE lease_until IS NOT NULL)
SELECT o.provider_account, o.state, count(*)
FROM waiting
         CROSS JOIN LATERAL (SELECT id, provider_account, state, created_at FROM operation WHERE id = waiting.id LIMIT 1) AS o
WHERE o.state NOT IN ('succeeded', 'failed', 'canceled')
  AND ($1::uuid IS NULL
    OR (o.created_at <= (SELECT bumped_at FROM epoch WHERE id = $1)
        AND (SELECT a.fence FROM attempt a WHERE a.operation_id = o.id AND a.epoch_id = $1 LIMIT 1) IS NULL))
GROUP BY o.provider_account, o.state
ORDER BY o.provider_account, o.state
