-- +goose Up

-- What providers told us by webhook: stored as it came, before anything is made of
-- it (U8). A row is the record that the event arrived; what follows from it is
-- evidence, in its own table.
CREATE TABLE provider_event
(
    id               uuid PRIMARY KEY,
    provider_account text        NOT NULL, -- whose secret it was signed with, and so whose operations it may speak of
    event_id         text        NOT NULL CHECK (length(event_id) BETWEEN 1 AND 255), -- the provider's
    event_type       text        NOT NULL CHECK (length(event_type) <= 255), -- '' where the body says none
    hash             bytea       NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the body, which evidence names too
    headers          jsonb,       -- those that the signature stands in and is over
    body             bytea CHECK (length(body) <= 262144),
    received_at      timestamptz NOT NULL DEFAULT payonce_now(),
    conflicting      boolean     NOT NULL DEFAULT false, -- another body came under the same id
    state            text        NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'applied', 'ignored', 'person')),
    reason           text,
    -- What it was about, once it was applied. No foreign key: its check would lock the
    -- operation, and events are written before keys and payments are locked. The story
    -- with one: an event holds its operation, a worker holds the key and waits for the
    -- operation, and the event waits for the key.
    operation_id     uuid,
    tries            integer     NOT NULL DEFAULT 0, -- rises when a reconciler takes it; a result for an older one falls
    next_try_at      timestamptz,
    done_at          timestamptz,
    -- What it says, as the connector reads it: the same for two bodies that differ only
    -- in what decides nothing. NULL where the body cannot be read.
    says             bytea CHECK (length(says) = 32),
    CONSTRAINT a_provider_tells_an_event_once UNIQUE (provider_account, event_id),
    CONSTRAINT what_waits_is_tried_again CHECK ((state = 'waiting') = (next_try_at IS NOT NULL)),
    CONSTRAINT what_is_done_says_when CHECK ((state = 'waiting') = (done_at IS NULL)),
    CONSTRAINT what_a_person_gets_has_a_reason CHECK (state <> 'person' OR reason IS NOT NULL),
    CONSTRAINT a_body_is_kept_until_it_was_read CHECK (body IS NOT NULL OR state IN ('applied', 'ignored'))
);
CREATE INDEX provider_event_due ON provider_event (provider_account, next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX provider_event_for_people ON provider_event (received_at) WHERE state = 'person' OR conflicting;
CREATE INDEX provider_event_to_forget ON provider_event (done_at) WHERE body IS NOT NULL AND state IN ('applied', 'ignored');
CREATE INDEX provider_event_by_operation ON provider_event (operation_id) WHERE operation_id IS NOT NULL;

-- Another body under an id that is there already. It is kept for a person and
-- never applied: the first one counts. It is forgotten as the others are; its hash
-- stays.
CREATE TABLE provider_event_conflict
(
    provider_event_id uuid        NOT NULL REFERENCES provider_event (id),
    hash              bytea       NOT NULL CHECK (length(hash) = 32),
    event_type        text        NOT NULL,
    headers           jsonb,
    body              bytea,
    received_at       timestamptz NOT NULL DEFAULT payonce_now(),
    PRIMARY KEY (provider_event_id, hash)
);
CREATE INDEX provider_event_conflict_to_forget ON provider_event_conflict (received_at) WHERE body IS NOT NULL;
CREATE TRIGGER provider_event_conflict_stays
    BEFORE DELETE OR TRUNCATE ON provider_event_conflict
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER provider_event_conflict_is_as_it_came
    BEFORE UPDATE ON provider_event_conflict
    FOR EACH ROW WHEN (NEW.body IS NOT NULL OR NEW.headers IS NOT NULL
        OR (NEW.provider_event_id, NEW.hash, NEW.event_type, NEW.received_at)
            IS DISTINCT FROM (OLD.provider_event_id, OLD.hash, OLD.event_type, OLD.received_at))
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER provider_event_stays
    BEFORE DELETE OR TRUNCATE ON provider_event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What came is not rewritten, only forgotten in the end; what was done about it is
-- not undone.
CREATE TRIGGER provider_event_is_as_it_came
    BEFORE UPDATE OF body, headers ON provider_event
    FOR EACH ROW WHEN (NEW.body IS NOT NULL AND NEW.body IS DISTINCT FROM OLD.body
        OR NEW.headers IS NOT NULL AND NEW.headers IS DISTINCT FROM OLD.headers)
EXECUTE FUNCTION refuse_change();
CREATE TRIGGER what_was_done_stays_done
    BEFORE UPDATE OF state, operation_id, tries ON provider_event
    FOR EACH ROW WHEN (NEW.tries < OLD.tries OR OLD.state IN ('applied', 'ignored')
        AND (NEW.state <> OLD.state OR NEW.operation_id IS DISTINCT FROM OLD.operation_id))
EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT ON provider_event, provider_event_conflict TO payonce_app;
GRANT UPDATE (headers, body, conflicting, state, reason, operation_id, tries, next_try_at, done_at) ON provider_event TO payonce_app;
GRANT UPDATE (headers, body) ON provider_event_conflict TO payonce_app;
