-- +goose NO TRANSACTION
-- +goose Up

-- As in 00010, but a doubt that was closed does not swallow the next one about the same
-- movement. The new index is there before the old one goes.
DROP INDEX CONCURRENTLY IF EXISTS one_case_per_contradiction_at_once;
CREATE UNIQUE INDEX CONCURRENTLY one_case_per_contradiction_at_once ON payment_case (operation_id, kind, provider_object_id)
    WHERE provider_object_id <> '' AND NOT (kind = 'failed_after_captured' AND state IN ('resolved', 'dismissed'));
DROP INDEX CONCURRENTLY IF EXISTS one_case_per_contradiction;
DROP INDEX CONCURRENTLY IF EXISTS one_case_per_unnamed_amount_at_once;
CREATE UNIQUE INDEX CONCURRENTLY one_case_per_unnamed_amount_at_once ON payment_case (operation_id, kind, amount_minor, currency)
    NULLS NOT DISTINCT WHERE provider_object_id = '' AND NOT (kind = 'failed_after_captured' AND state IN ('resolved', 'dismissed'));
DROP INDEX CONCURRENTLY IF EXISTS one_case_per_unnamed_amount;
