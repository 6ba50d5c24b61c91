-- +goose Up
SET LOCAL lock_timeout = '1s';

-- The object that an operation had when a loss was recorded. A stored id is never replaced, so whatever was lost
-- acted on that very object. Without one it may have made and charged any: the database has forgotten the id.
-- (Not validated, because no older row has one.)
ALTER TABLE attempt
    ADD COLUMN acted_on text,
    ADD CONSTRAINT only_what_was_lost_names_its_object CHECK (acted_on IS NULL OR epoch_id IS NOT NULL) NOT VALID;

-- A wrong object would be asked about, and its no be taken for one about what was lost.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_lost_attempt() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NOT EXISTS (SELECT FROM public.operation o, public.epoch e
                   WHERE o.id = NEW.operation_id AND e.id = NEW.epoch_id AND NEW.claimed_at <= o.created_at
                     AND NEW.last_possible_send >= e.bumped_at + e.in_flight) THEN
        RAISE EXCEPTION 'the lost attempt of operation % does not span the time from its birth to the end of epoch %', NEW.operation_id, NEW.epoch_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'what_was_lost_spans_its_epoch';
    END IF;
    IF NEW.acted_on IS NOT NULL AND NOT EXISTS (SELECT FROM public.operation o WHERE o.id = NEW.operation_id AND o.provider_object_id = NEW.acted_on) THEN
        RAISE EXCEPTION 'the lost attempt of operation % names an object that the operation does not have', NEW.operation_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'what_was_lost_acted_on_what_was_stored';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
