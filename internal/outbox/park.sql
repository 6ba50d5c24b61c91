-- Moves rows of one lane aside, each with its reason.
WITH moved AS (
    DELETE FROM outbox
    WHERE lane = $1::smallint AND seq = ANY ($2::bigint[])
    RETURNING lane, seq, event_id, topic, key, headers, payload, created_at
)
INSERT INTO outbox_parked (lane, seq, event_id, topic, key, headers, payload, reason, created_at)
SELECT m.lane, m.seq, m.event_id, m.topic, m.key, m.headers, m.payload, why.reason, m.created_at
FROM moved m
         JOIN unnest($2::bigint[], $3::text[]) AS why (seq, reason) USING (seq)
ORDER BY m.seq
