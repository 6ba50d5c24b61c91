UPDATE provider_event
SET body    = NULL,
    headers = NULL
WHERE id = ANY (ARRAY(SELECT id
                      FROM provider_event
                      WHERE body IS NOT NULL
                        AND state IN ('applied', 'ignored')
                        AND done_at <= (SELECT payonce_now()) - $1::interval
                      ORDER BY done_at
                      LIMIT $2 FOR UPDATE SKIP LOCKED))
