-- +goose Up

-- A provider's refunds can be down while its charges are not. What waits for one kind
-- must not stand in front of what could be sent of another.
CREATE INDEX operation_due_by_kind ON operation (provider_account, kind, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
DROP INDEX operation_due;
