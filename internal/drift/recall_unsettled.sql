-- What was under way at the provider in an earlier scan is asked about again, all of
-- it: each page goes on after the last finding of the page before.
WITH page AS MATERIALIZED (SELECT id, operation_id, object_id
                           FROM drift_finding
                           WHERE provider_account = $2
                             AND state = 'open'
                             AND kind = 'unsettled'
                             AND operation_id IS NOT NULL
                             AND id > $3
                           ORDER BY id
                           LIMIT $4),
     asked AS (
         INSERT INTO drift_question (scan_id, operation_id, object_id)
             SELECT $1, operation_id, object_id FROM page ORDER BY operation_id, object_id
             ON CONFLICT DO NOTHING)
SELECT (SELECT count(*) FROM page), (SELECT id FROM page ORDER BY id DESC LIMIT 1)
