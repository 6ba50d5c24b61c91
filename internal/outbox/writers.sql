-- The transactions that have written to the outbox and have not ended. A
-- transaction has this lock before it draws its first seq, and gives it back when
-- what it wrote can be read.
SELECT coalesce(array_agg(DISTINCT virtualtransaction), '{}')
FROM pg_locks
WHERE locktype = 'relation'
  AND relation = 'outbox'::regclass
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND mode = 'RowExclusiveLock'
  AND granted
