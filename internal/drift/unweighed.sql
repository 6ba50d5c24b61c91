-- Those that failed come last, those of one operation follow each other. A row of
-- evidence says the same as the list when it names the movement with the same money:
-- then there is nothing to tell. A movement that the provider has denied since is told again: the list is a
-- newer word, and a webhook's captured does not answer a no.
--
-- What an operation succeeded with is known to be there, or to be in doubt, when this
-- list names it too or a case is about it, as in compare.sql. Its row may be gone from the table already;
-- then the provider is asked once more than needed.
WITH next AS MATERIALIZED (SELECT object_id, reference, operation_id, kind, verdict, amount_minor, currency, created_at, asked_at, tries
                           FROM drift_seen
                           WHERE scan_id = $1
                           ORDER BY tries, operation_id, object_id
                           LIMIT $2)
SELECT n.object_id, n.reference, n.kind, n.verdict, n.amount_minor, n.currency, n.created_at, n.asked_at, n.tries,
       o.id, o.payment_id, coalesce(o.provider_account, ''), coalesce(o.kind, ''), coalesce(o.state, ''), o.amount_minor, o.currency,
       coalesce(o.provider_object_id, ''),
       EXISTS (SELECT
               FROM drift_seen s
               WHERE s.scan_id = $1
                 AND s.operation_id = o.id
                 AND s.object_id = o.provider_object_id
                 AND s.kind = o.kind
                 AND s.verdict = 'captured')
           OR EXISTS (SELECT
                      FROM payment_case k
                      WHERE k.operation_id = o.id
                        AND k.kind = 'failed_after_captured'
                        AND (o.provider_object_id IS NULL OR k.provider_object_id IN ('', o.provider_object_id))
                        AND (k.state NOT IN ('resolved', 'dismissed')
                          OR NOT EXISTS (SELECT
                                         FROM evidence e
                                         WHERE e.operation_id = o.id
                                           AND e.asked_at > k.updated_at
                                           AND (o.provider_object_id IS NULL OR coalesce(e.provider_object_id, '') IN ('', o.provider_object_id))))),
       coalesce((SELECT a.recipe FROM attempt a WHERE a.operation_id = o.id ORDER BY a.fence LIMIT 1), ''),
       n.verdict = 'captured'
           AND NOT movement_is_denied(o.id, n.object_id)
           AND EXISTS (SELECT
                       FROM evidence e
                       WHERE e.operation_id = o.id
                         AND e.verdict = 'captured'
                         AND e.provider_object_id = n.object_id
                         AND e.amount_minor IS NOT DISTINCT FROM n.amount_minor
                         AND e.currency IS NOT DISTINCT FROM n.currency)
FROM next n
         LEFT JOIN operation o ON o.id = n.operation_id
ORDER BY n.tries, n.operation_id, n.object_id
