-- +goose Up

-- Every answer, inquiry, closed door, webhook, file line and operator decision.
-- Nothing becomes captured or failed without a row here that says so (P3, U5).
CREATE TABLE evidence
(
    id                 uuid PRIMARY KEY,
    operation_id       uuid        NOT NULL REFERENCES operation (id),
    fence              bigint, -- the attempt that was answered; null when the question was not an attempt
    source             text        NOT NULL CHECK (source IN ('answer', 'inquiry', 'closure', 'webhook', 'settlement', 'operator')),
    verdict            text        NOT NULL CHECK (verdict IN ('unclear', 'captured', 'declined', 'not_taken', 'pending')),
    amount_minor       bigint, -- what the provider said, not what we asked for
    currency           text,
    provider_object_id text,
    status             integer, -- the answer's HTTP status, when there was one
    reason             text,    -- a stable code, no free text of the provider
    asked_at           timestamptz NOT NULL, -- database clock, before the question was sent
    -- Set on a no from a question that was not an attempt, where the provider
    -- declares that its no is authoritative: asked_at minus the declared grace.
    -- Every attempt whose last possible send lies at or before it is covered.
    covers_until       timestamptz,
    -- Set on an attempt's decline where the provider declares that it serialises
    -- a key, within the key's horizon: earlier attempts are covered too.
    covers_earlier     boolean     NOT NULL DEFAULT false,
    hash               bytea       NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the raw answer
    recorded_at        timestamptz NOT NULL DEFAULT payonce_now(),
    CONSTRAINT an_answer_belongs_to_an_attempt CHECK ((source = 'answer') = (fence IS NOT NULL)),
    CONSTRAINT an_answer_covers_by_its_attempt CHECK (source <> 'answer' OR covers_until IS NULL),
    CONSTRAINT only_a_no_covers CHECK ((covers_until IS NULL AND NOT covers_earlier) OR verdict IN ('declined', 'not_taken')),
    CONSTRAINT only_a_decline_covers_earlier_attempts CHECK (NOT covers_earlier OR (source = 'answer' AND verdict = 'declined')),
    CONSTRAINT a_webhook_never_covers CHECK (source <> 'webhook' OR covers_until IS NULL),
    CONSTRAINT cover_lies_before_the_question CHECK (covers_until <= asked_at),
    CONSTRAINT money_has_a_currency CHECK ((amount_minor IS NULL) = (currency IS NULL)),
    FOREIGN KEY (operation_id, fence) REFERENCES attempt (operation_id, fence)
);
CREATE INDEX evidence_by_operation ON evidence (operation_id);
CREATE TRIGGER evidence_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON evidence
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT ON evidence TO payonce_app;
