-- +goose NO TRANSACTION
-- +goose Up

-- Also after it has failed: who asks again under the same reference asks for the same refund.
DROP INDEX CONCURRENTLY IF EXISTS operation_one_refund_per_reference;
CREATE UNIQUE INDEX CONCURRENTLY operation_one_refund_per_reference ON operation (payment_id, refund_reference)
    WHERE refund_reference IS NOT NULL;
