-- +goose NO TRANSACTION
-- +goose Up

-- A provider's refunds can be down while its charges are not. What waits for one kind
-- must not stand in front of what could be sent of another.
--
-- Here and in later files that build on tables in use: CONCURRENTLY, so that payments go
-- on meanwhile, and nothing else in the file. A build that was broken off leaves an index
-- that is kept up and not used; the file is run again from its beginning, so what is left
-- is dropped first.
DROP INDEX CONCURRENTLY IF EXISTS operation_due_by_kind;
CREATE INDEX CONCURRENTLY operation_due_by_kind ON operation (provider_account, kind, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS operation_due;
