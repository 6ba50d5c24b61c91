-- +goose NO TRANSACTION
-- +goose Up

-- One movement at the provider is one refund, and not the charge itself.
DROP INDEX CONCURRENTLY IF EXISTS operation_one_refund_per_movement;
CREATE UNIQUE INDEX CONCURRENTLY operation_one_refund_per_movement ON operation (provider_account, provider_object_id)
    WHERE kind = 'refund' AND state = 'succeeded' AND provider_object_id IS NOT NULL;
