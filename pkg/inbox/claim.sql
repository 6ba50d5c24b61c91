-- $1 consumer, $2 message ids, $3 their record timestamps.
--
-- Messages below the floor are not inserted: an id would say "handled".
-- Sorted, so that two transactions with the same messages wait for each other and
-- never deadlock. A conflict with an id that another transaction has just written
-- waits for that transaction's end. An id that stands in $2 twice is inserted
-- once.
INSERT INTO processed_message (consumer, message_id)
SELECT $1, delivered.id
FROM unnest($2::uuid[], $3::timestamptz[]) AS delivered (id, record_time)
WHERE delivered.record_time >= coalesce((SELECT floor FROM inbox_floor WHERE consumer = $1), '-infinity')
ORDER BY delivered.id
ON CONFLICT DO NOTHING
RETURNING message_id
