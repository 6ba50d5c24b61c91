-- The lanes that hold rows beyond their cursors. Locks nothing and writes
-- nothing: an idle relay must cost next to nothing.
--   $1  the cursors, lane 0 first
SELECT pg_snapshot_xmin(pg_current_snapshot()),
       ARRAY (
           SELECT (c.nth - 1)::smallint
           FROM unnest($1::bigint[]) WITH ORDINALITY AS c (cursor, nth)
                    -- LIMIT keeps the planner from joining all rows of the outbox.
                    CROSS JOIN LATERAL (
                        SELECT
                        FROM outbox o
                        WHERE o.lane = (c.nth - 1)::smallint AND o.seq > c.cursor
                        ORDER BY o.seq
                        LIMIT 1
                    ) oldest
       )
