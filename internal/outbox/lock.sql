-- Locks lanes that are free and hold rows. The row lock in outbox_lane is the
-- lease of the lane: it ends with the transaction or with its connection.
--   $1  lanes that may be taken, the one to begin with first
--   $2  the cursors, lane 0 first
--   $3  how many lanes at most
WITH taken AS MATERIALIZED (
    -- A nested loop in the order of $1, which stops when it has enough. Another
    -- plan would lock other lanes, as good as these.
    SELECT l.lane
    FROM unnest($1::smallint[]) AS c (lane)
             CROSS JOIN LATERAL (
                 SELECT
                 FROM outbox o
                 WHERE o.lane = c.lane AND o.seq > ($2::bigint[])[c.lane + 1]
                 ORDER BY o.seq
                 LIMIT 1
             ) oldest
             JOIN outbox_lane l ON l.lane = c.lane
    LIMIT $3::int
    FOR UPDATE OF l SKIP LOCKED
)
-- The rows are read by the next statement (read.sql), which finds the lanes in
-- this setting. They must not be read by this one: its snapshot is older than its
-- locks. The lane's former holder may have removed rows and committed in between,
-- and they would be read, and published, once more.
SELECT set_config('payonce.lanes', coalesce(string_agg(lane::text, ','), ''), true),
       coalesce(array_agg(lane), '{}'),
       pg_snapshot_xmin(pg_current_snapshot()),
       CASE WHEN count(*) > 0 THEN pg_current_xact_id() ELSE '0' END
FROM taken
