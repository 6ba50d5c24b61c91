-- What can be told without counting rows: one look along the key for each lane.
--   $1  the cursors, lane 0 first
SELECT (c.nth - 1)::smallint,
       oldest.seq,
       newest.seq,
       greatest(extract(epoch FROM payonce_now() - oldest.created_at), 0)::float8
FROM unnest($1::bigint[]) WITH ORDINALITY AS c (cursor, nth)
         CROSS JOIN LATERAL (
             SELECT seq, created_at FROM outbox
             WHERE lane = (c.nth - 1)::smallint AND seq > c.cursor
             ORDER BY seq LIMIT 1
         ) oldest
         CROSS JOIN LATERAL (
             SELECT seq FROM outbox
             WHERE lane = (c.nth - 1)::smallint
             ORDER BY seq DESC LIMIT 1
         ) newest
ORDER BY 1
