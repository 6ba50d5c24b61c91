-- Final charges that no stored evidence supports. The database refuses them, so
-- this asks whether it did.
SELECT count(*)
FROM operation o
WHERE (o.state = 'succeeded' AND NOT EXISTS (SELECT
                                             FROM evidence e
                                             WHERE e.operation_id = o.id
                                               AND e.verdict = 'captured'
                                               AND e.amount_minor = o.amount_minor
                                               AND e.currency = o.currency))
   OR (o.state = 'failed' AND NOT EXISTS (SELECT
                                          FROM evidence e
                                          WHERE e.operation_id = o.id
                                            AND e.verdict IN ('declined', 'not_taken')))
