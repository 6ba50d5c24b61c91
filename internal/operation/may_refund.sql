-- Nothing is given back while the provider denies what we booked and nobody has judged
-- that yet, nor what a case gives back or gave back.
SELECT coalesce(o.provider_object_id, '') <> ''
           AND NOT EXISTS (SELECT
                           FROM payment_case k
                           WHERE k.operation_id = o.id AND k.kind = 'failed_after_captured' AND k.state IN ('open', 'working'))
           AND NOT EXISTS (SELECT
                           FROM payment_case k
                                    JOIN operation back ON back.case_id = k.id
                           WHERE k.operation_id = o.id
                             AND back.target_object_id = o.provider_object_id
                             AND back.state NOT IN ('failed', 'canceled'))
FROM operation o
WHERE o.id = $1
