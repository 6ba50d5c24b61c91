-- +goose Up

-- What a person said about an operation, word for word, beside the evidence that it
-- became: evidence.hash is the hash of what was said, as it is that of a provider's
-- raw answer.
CREATE TABLE operator_statement
(
    hash         bytea PRIMARY KEY CHECK (hash = sha256(said)),
    operation_id uuid        NOT NULL REFERENCES operation (id),
    who          text        NOT NULL CHECK (length(who) BETWEEN 1 AND 200),
    reason       text        NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
    said         bytea       NOT NULL,
    said_at      timestamptz NOT NULL DEFAULT payonce_now()
);
CREATE INDEX operator_statement_by_operation ON operator_statement (operation_id);
CREATE TRIGGER operator_statement_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_statement
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
GRANT SELECT, INSERT ON operator_statement TO payonce_app;

-- A failover to a replica that was behind, or a restore, loses commits that were
-- acknowledged: claims, results, evidence. An epoch says that this has happened.
-- Nothing that was there by then is sent, failed or canceled on what the database
-- remembers; the provider is asked first.
CREATE TABLE epoch
(
    id        uuid PRIMARY KEY,
    bumped_at timestamptz NOT NULL DEFAULT payonce_now(),
    in_flight interval    NOT NULL CHECK (in_flight > interval '0'), -- how long after it a lost attempt may still have sent
    who       text        NOT NULL CHECK (length(who) BETWEEN 1 AND 200),
    reason    text        NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000)
);
CREATE INDEX epoch_by_time ON epoch (bumped_at);
CREATE TRIGGER epoch_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON epoch
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
GRANT SELECT, INSERT ON epoch TO payonce_app;

-- The attempt that stands for all that an epoch's loss may have taken: sent at any
-- moment between the operation's birth and the bump, by nobody knows which recipe, but
-- to the account at the provider that others were sent to at that time: '@' and that
-- account. Nothing at all where no attempt of the account survived.
-- (Not validated, because no older row has an epoch.)
ALTER TABLE attempt ADD COLUMN epoch_id uuid;
ALTER TABLE attempt
    ADD CONSTRAINT attempt_epoch_id_fkey FOREIGN KEY (epoch_id) REFERENCES epoch (id) NOT VALID,
    ADD CONSTRAINT what_was_lost_has_no_recipe CHECK (epoch_id IS NULL OR recipe = '' OR recipe LIKE '@_%') NOT VALID;
CREATE UNIQUE INDEX attempt_once_per_epoch ON attempt (operation_id, epoch_id) WHERE epoch_id IS NOT NULL;

-- A key's horizon counts from the first possible send and "not found" from the last:
-- too late a first one, or too early a last one, would make a second charge possible.
-- +goose StatementBegin
CREATE FUNCTION guard_lost_attempt() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NOT EXISTS (SELECT FROM public.operation o, public.epoch e
                   WHERE o.id = NEW.operation_id AND e.id = NEW.epoch_id AND NEW.claimed_at <= o.created_at
                     AND NEW.last_possible_send >= e.bumped_at + e.in_flight) THEN
        RAISE EXCEPTION 'the lost attempt of operation % does not span the time from its birth to the end of epoch %', NEW.operation_id, NEW.epoch_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'what_was_lost_spans_its_epoch';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER what_was_lost_spans_its_epoch
    BEFORE INSERT ON attempt
    FOR EACH ROW WHEN (NEW.epoch_id IS NOT NULL)
EXECUTE FUNCTION guard_lost_attempt();
-- Nobody can tell how it went: it is covered from outside, or not at all.
CREATE TRIGGER what_was_lost_tells_nothing
    BEFORE UPDATE ON attempt
    FOR EACH ROW WHEN (OLD.epoch_id IS NOT NULL)
EXECUTE FUNCTION refuse_change();

-- The newest epoch is younger than the operation and not recorded at it yet. An older
-- epoch says nothing that the newest does not.
-- +goose StatementBegin
CREATE FUNCTION awaits_epoch(operation uuid, born timestamptz) RETURNS boolean
    LANGUAGE plpgsql STABLE AS
$$
DECLARE
    newest public.epoch;
BEGIN
    SELECT * INTO newest FROM public.epoch e ORDER BY e.bumped_at DESC LIMIT 1;
    RETURN FOUND AND newest.bumped_at >= born
        AND NOT EXISTS (SELECT FROM public.attempt a WHERE a.operation_id = operation AND a.epoch_id = newest.id);
END
$$;
-- +goose StatementEnd

-- As in 00005, and: a charge leaves a final state by adoption only; what was given
-- back does not count as held when the operation fails; what was there at a bump becomes
-- unknown before anything else, and is never in created again, from where it could be
-- sent without a question.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_operation_move() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    why text;
BEGIN
    IF NEW.fence < OLD.fence THEN
        why := format('the fence may not fall from %s to %s', OLD.fence, NEW.fence);
    ELSIF NEW.state = OLD.state THEN
        RETURN NEW;
    ELSIF OLD.state IN ('failed', 'canceled') AND NEW.state = 'succeeded' THEN
        why := public.adoption_lacks(NEW);
    ELSIF NOT EXISTS (SELECT FROM public.operation_arrow WHERE from_state = OLD.state AND to_state = NEW.state) THEN
        why := 'there is no such arrow';
    ELSIF OLD.state = 'created' AND NEW.state <> 'unknown' AND EXISTS (SELECT FROM public.epoch e WHERE e.bumped_at >= NEW.created_at) THEN
        why := 'it was there when commits were lost: the provider is asked first';
    ELSIF NEW.state IN ('failed', 'created') AND public.awaits_epoch(NEW.id, NEW.created_at) THEN
        why := 'what was lost of it is not recorded yet';
    ELSIF NEW.state = 'processing' THEN
        IF NEW.fence <= OLD.fence THEN
            why := 'a claim needs a new fence';
        ELSIF public.provider_may_hold(NEW.id) THEN
            why := 'evidence says that the provider may already hold it';
        END IF;
    ELSIF NEW.state = 'succeeded' THEN
        IF NOT public.is_proven_captured(NEW) THEN
            why := 'no captured evidence with this amount and currency';
        END IF;
    ELSIF NEW.state IN ('failed', 'canceled') AND OLD.state = 'created' THEN
        IF public.attempts_that_may_return(NEW.id) > 0 THEN
            why := 'an attempt was not taken, but its door is not closed';
        ELSIF public.provider_may_hold(NEW.id) THEN
            why := 'evidence says that the provider may already hold it';
        END IF;
    ELSIF NEW.state = 'created' AND EXISTS (SELECT FROM public.evidence e WHERE e.operation_id = NEW.id AND e.source = 'closure') THEN
        why := 'its door is closed or being closed';
    ELSIF NEW.state = 'created' AND EXISTS (SELECT FROM public.attempt a WHERE a.operation_id = NEW.id AND a.epoch_id IS NOT NULL) THEN
        why := 'attempts of it may have been lost';
    ELSIF NEW.state IN ('failed', 'created') THEN
        IF public.uncovered_attempts(NEW.id) > 0 THEN
            why := 'an attempt that may have been sent is not covered';
        ELSIF NEW.state = 'created' AND public.provider_may_hold(NEW.id) OR public.provider_still_holds(NEW.id) THEN
            why := 'evidence says that the provider may hold it';
        END IF;
    ELSIF NEW.state = 'pending' THEN
        IF NOT EXISTS (SELECT FROM public.evidence e WHERE e.operation_id = NEW.id AND e.verdict = 'pending') THEN
            why := 'no pending evidence';
        END IF;
    ELSIF NEW.state = 'unknown' AND OLD.state = 'created' THEN
        IF NOT public.provider_may_hold(NEW.id)
            AND NOT EXISTS (SELECT FROM public.attempt a
                                     JOIN public.epoch e ON e.id = a.epoch_id
                            WHERE a.operation_id = NEW.id AND a.fence = NEW.fence AND e.bumped_at >= NEW.created_at) THEN
            why := 'nothing says that it was ever sent';
        END IF;
    END IF;
    IF why IS NOT NULL THEN
        RAISE EXCEPTION 'operation % may not go from % to %: %', NEW.id, OLD.state, NEW.state, why
            USING ERRCODE = 'check_violation', CONSTRAINT = 'operation_move_is_proven';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
