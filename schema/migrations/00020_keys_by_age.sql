-- +goose NO TRANSACTION
-- +goose Up

-- Keys are swept from the oldest on. New ones go to the index's end.
DROP INDEX CONCURRENTLY IF EXISTS idempotency_key_by_age;
CREATE INDEX CONCURRENTLY idempotency_key_by_age ON idempotency_key (created_at);
