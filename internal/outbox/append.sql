-- One statement for any number of events. seq follows the order given: the
-- sorted SELECT is a subquery, and the sequence is drawn for each row that comes
-- out of it.
--
-- The writer's transaction id is asked for inside that subquery, so that a
-- transaction has its id before it draws its first seq, also when this is its
-- first write. The relay's cursor relies on it (see horizon.go).
INSERT INTO outbox (lane, event_id, topic, key, headers, payload, writer)
SELECT lane, event_id, topic, key, headers, payload, pg_current_xact_id()
FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::uuid[], $5::jsonb[], $6::bytea[])
         WITH ORDINALITY AS e (lane, event_id, topic, key, headers, payload, nth)
ORDER BY nth
