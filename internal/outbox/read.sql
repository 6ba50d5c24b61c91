-- The oldest rows of the lanes that lock.sql took, lane by lane, in order.
--   $1  the cursors, lane 0 first
--   $2  how many rows at most, shared evenly by the lanes
--   $3  how many bytes at most, shared evenly; a lane's first row comes anyway
SELECT o.lane, o.seq, o.event_id, o.topic, o.key, o.headers, o.payload,
       -- Parked rows are rare: the payment is looked up only in a lane with some.
       parked.here AND coalesce((SELECT true FROM outbox_parked p WHERE p.key = o.key LIMIT 1), false)
FROM (
    SELECT taken.lanes,
           greatest($2::int / greatest(cardinality(taken.lanes), 1), 1) AS rows_each,
           $3::int / greatest(cardinality(taken.lanes), 1)              AS bytes_each
    FROM (SELECT string_to_array(current_setting('payonce.lanes'), ',')::smallint[]) AS taken (lanes)
) held
         CROSS JOIN LATERAL unnest(held.lanes) AS l (lane)
         CROSS JOIN LATERAL (
             SELECT coalesce((SELECT true FROM outbox_parked p WHERE p.lane = l.lane LIMIT 1), false) AS here
             OFFSET 0
         ) parked
         CROSS JOIN LATERAL (
             SELECT oldest.*,
                    -- Neither length nor pg_column_size fetches a stored-apart value.
                    sum(length(oldest.payload) + pg_column_size(oldest.headers))
                        OVER (ORDER BY oldest.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
             FROM (
                 SELECT lane, seq, event_id, topic, key, headers, payload
                 FROM outbox
                 WHERE lane = l.lane AND seq > ($1::bigint[])[l.lane + 1]
                 ORDER BY seq
                 LIMIT held.rows_each
             ) oldest
         ) o
WHERE o.bytes_before IS NULL OR o.bytes_before < held.bytes_each
