-- Our side of the comparison. What has succeeded here and was not listed as captured
-- is to be asked about, once all its attempts lie before the window's end: one that
-- was sent later is listed later, too. Another movement under the same reference is
-- not what it succeeded with. What is open is left for a later scan. What failed needs
-- nothing: if the provider moved money for it, the list names it. But what was open in
-- an earlier scan is asked about, because what that scan's list named was left then.
--
-- A doubt that is a case already is not asked about again: one about this movement that
-- is open, or that was closed with nothing heard of the movement since. A person knew
-- then that the provider denies it, and so the same window finds nothing new. What was
-- heard since is: a movement that was there again, and is not listed now. Operations that were sent
-- to another account at the provider are not this list's.
WITH wanted AS MATERIALIZED (
    (SELECT id FROM operation WHERE NOT $5::boolean AND id > $6::uuid AND id < $7::uuid ORDER BY id LIMIT $8::integer)
    UNION ALL
    (SELECT operation_id FROM drift_later WHERE $5::boolean AND provider_account = $2 AND operation_id > $6::uuid ORDER BY operation_id LIMIT $8::integer)),
     ours AS MATERIALIZED (
         SELECT o.id,
                CASE
                    WHEN o.state IN ('failed', 'canceled') THEN CASE WHEN $5::boolean AND sent.newest IS NOT NULL THEN 'differs' ELSE 'agrees' END
                    WHEN o.state <> 'succeeded' OR sent.newest >= $4::timestamptz THEN 'later'
                    WHEN EXISTS (SELECT
                                 FROM drift_seen s
                                 WHERE s.scan_id = $1::uuid AND s.operation_id = o.id AND s.kind = o.kind AND s.verdict = 'captured'
                                   AND (o.provider_object_id IS NULL OR s.object_id = o.provider_object_id))
                        THEN 'agrees'
                    WHEN EXISTS (SELECT
                                 FROM payment_case k
                                 WHERE k.operation_id = o.id
                                   AND k.kind = 'failed_after_captured'
                                   AND (o.provider_object_id IS NULL OR k.provider_object_id IN ('', o.provider_object_id))
                                   AND (k.state NOT IN ('resolved', 'dismissed')
                                     OR NOT EXISTS (SELECT
                                                    FROM evidence e
                                                    WHERE e.operation_id = o.id
                                                      AND e.asked_at > k.updated_at
                                                      AND (o.provider_object_id IS NULL OR coalesce(e.provider_object_id, '') IN ('', o.provider_object_id)))))
                        THEN 'agrees'
                    ELSE 'differs' END AS standing
         FROM wanted w
                  JOIN operation o ON o.id = w.id
                  CROSS JOIN LATERAL (SELECT max(a.claimed_at) AS newest,
                                             coalesce((SELECT f.recipe FROM attempt f WHERE f.operation_id = o.id ORDER BY f.fence LIMIT 1), '') AS recipe
                                      FROM attempt a
                                      WHERE a.operation_id = o.id) AS sent
         WHERE o.provider_account = $2::text
           AND (strpos(sent.recipe, '@') = 0 OR substr(sent.recipe, strpos(sent.recipe, '@') + 1) = $3::text)),
     asked AS (
         INSERT INTO drift_question (scan_id, operation_id)
             SELECT $1::uuid, id FROM ours WHERE standing = 'differs' ORDER BY id
             ON CONFLICT DO NOTHING),
     kept AS (
         INSERT INTO drift_later (operation_id, provider_account)
             SELECT id, $2::text FROM ours WHERE standing = 'later' ORDER BY id
             ON CONFLICT DO NOTHING),
     settled AS (
         DELETE FROM drift_later l
             USING ours
             WHERE $5::boolean AND l.operation_id = ours.id AND ours.standing <> 'later')
SELECT (SELECT count(*) FROM wanted), (SELECT id FROM wanted ORDER BY id DESC LIMIT 1)
