-- What open_at_epoch.sql would return, counted; everything that is open without an
-- epoch ($1 is null).
WITH waiting AS MATERIALIZED (SELECT id FROM operation WHERE next_attempt_at IS NOT NULL
                              UNION
                              SELECT id FROM operation WHERE next_check_at IS NOT NULL
                              UNION
                              SELECT id FROM operation WHERE lease_until IS NOT NULL)
SELECT o.provider_account, o.state, count(*)
FROM waiting
         JOIN operation o ON o.id = waiting.id
         LEFT JOIN epoch e ON e.id = $1::uuid
WHERE o.state NOT IN ('succeeded', 'failed', 'canceled')
  AND (e.id IS NULL
    OR (o.created_at <= e.bumped_at AND NOT EXISTS (SELECT FROM attempt a WHERE a.operation_id = o.id AND a.epoch_id = e.id)))
GROUP BY o.provider_account, o.state
ORDER BY o.provider_account, o.state
