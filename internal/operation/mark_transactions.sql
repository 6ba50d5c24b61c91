-- An id of our own: whatever has one below it began before.
SELECT pg_current_xact_id()::text
