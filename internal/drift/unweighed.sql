-- Those that failed come last. A row of evidence says the same as the list when it
-- names the movement with the same money: then there is nothing to tell.
WITH next AS MATERIALIZED (SELECT object_id, reference, operation_id, kind, verdict, amount_minor, currency, created_at, asked_at, tries
                           FROM drift_seen
                           WHERE scan_id = $1
                           ORDER BY tries, object_id
                           LIMIT $2)
SELECT n.object_id, n.reference, n.kind, n.verdict, n.amount_minor, n.currency, n.created_at, n.asked_at, n.tries,
       o.id, o.payment_id, coalesce(o.provider_account, ''), coalesce(o.kind, ''), coalesce(o.state, ''), o.amount_minor, o.currency,
       coalesce((SELECT a.recipe FROM attempt a WHERE a.operation_id = o.id ORDER BY a.fence LIMIT 1), ''),
       n.verdict = 'captured'
           AND EXISTS (SELECT
                       FROM evidence e
                       WHERE e.operation_id = o.id
                         AND e.verdict = 'captured'
                         AND e.provider_object_id = n.object_id
                         AND e.amount_minor IS NOT DISTINCT FROM n.amount_minor
                         AND e.currency IS NOT DISTINCT FROM n.currency)
FROM next n
         LEFT JOIN operation o ON o.id = n.operation_id
ORDER BY n.tries, n.object_id
