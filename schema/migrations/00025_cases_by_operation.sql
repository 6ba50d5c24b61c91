-- +goose NO TRANSACTION
-- +goose Up

-- Every outcome looks for the cases of its operation, closed ones too. The other indexes that begin with the
-- operation hold some of the cases only, so that without this one the whole table is read each time.
DROP INDEX CONCURRENTLY IF EXISTS payment_case_by_operation;
CREATE INDEX CONCURRENTLY payment_case_by_operation ON payment_case (operation_id);
