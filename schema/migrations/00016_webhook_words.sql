-- +goose Up

-- What an event says, as the connector reads it: the same for two bodies that differ
-- only in what decides nothing. NULL where a body cannot be read.
ALTER TABLE provider_event ADD COLUMN says bytea CHECK (length(says) = 32);

-- A body that came under a known id is forgotten as the others are. Its hash stays.
ALTER TABLE provider_event_conflict ALTER COLUMN body DROP NOT NULL;
ALTER TABLE provider_event_conflict ALTER COLUMN headers DROP NOT NULL;
DROP TRIGGER provider_event_conflict_is_append_only ON provider_event_conflict;
CREATE TRIGGER provider_event_conflict_stays
    BEFORE DELETE OR TRUNCATE ON provider_event_conflict
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER provider_event_conflict_is_as_it_came
    BEFORE UPDATE ON provider_event_conflict
    FOR EACH ROW WHEN (NEW.body IS NOT NULL OR NEW.headers IS NOT NULL
        OR (NEW.provider_event_id, NEW.hash, NEW.event_type, NEW.received_at)
            IS DISTINCT FROM (OLD.provider_event_id, OLD.hash, OLD.event_type, OLD.received_at))
EXECUTE FUNCTION refuse_change();
CREATE INDEX provider_event_conflict_to_forget ON provider_event_conflict (received_at) WHERE body IS NOT NULL;
GRANT UPDATE (headers, body) ON provider_event_conflict TO payonce_app;
