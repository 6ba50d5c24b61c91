-- +goose Up

-- The second guard. The services decide in Go; these triggers know nothing of
-- that code and refuse, for every role, what no evidence supports.
--
-- They run for every payment, several times. So they are in PL/pgSQL, which keeps
-- its plans while a function in SQL is planned anew at every call; and tables are
-- named with their schema, so that no temporary table can stand in for them and no
-- search_path has to be set at every call.

CREATE TABLE operation_arrow
(
    from_state text NOT NULL,
    to_state   text NOT NULL,
    PRIMARY KEY (from_state, to_state)
);
INSERT INTO operation_arrow (from_state, to_state)
VALUES ('created', 'processing'),
       ('created', 'unknown'),
       ('created', 'failed'),
       ('created', 'canceled'),
       ('processing', 'succeeded'),
       ('processing', 'failed'),
       ('processing', 'pending'),
       ('processing', 'unknown'),
       ('processing', 'created'),
       ('pending', 'succeeded'),
       ('pending', 'failed'),
       ('pending', 'unknown'),
       ('unknown', 'succeeded'),
       ('unknown', 'failed'),
       ('unknown', 'pending'),
       ('unknown', 'created');
GRANT SELECT ON operation_arrow TO payonce_app;

-- An attempt is covered when nothing of it can still move money:
--   its own trace shows that no byte left, or
--   its own parsed answer was a no, or
--   a later attempt with the same key was declined and the provider serialises keys, or
--   an authoritative no was asked for after its last possible send plus grace.
-- +goose StatementBegin
CREATE FUNCTION uncovered_attempts(operation uuid) RETURNS bigint
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN (
        SELECT count(*)
        FROM public.attempt a
        WHERE a.operation_id = operation
          AND NOT a.not_sent
          AND NOT EXISTS (SELECT
                          FROM public.evidence e
                          WHERE e.operation_id = a.operation_id
                            AND e.verdict IN ('declined', 'not_taken')
                            AND ((e.source = 'answer' AND e.fence = a.fence)
                              OR (e.covers_earlier AND e.fence > a.fence)
                              OR e.covers_until >= a.last_possible_send))
    );
END
$$;
-- +goose StatementEnd

-- What leaves created without being sent (canceled, expired) must not have been
-- sent before either: every attempt proven not sent, finally declined, or the
-- door closed at the provider after it. "Not taken" alone is not enough here,
-- because a late copy of that attempt could still be taken.
-- +goose StatementBegin
CREATE FUNCTION attempts_that_may_return(operation uuid) RETURNS bigint
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN (
        SELECT count(*)
        FROM public.attempt a
        WHERE a.operation_id = operation
          AND NOT a.not_sent
          AND NOT EXISTS (SELECT
                          FROM public.evidence e
                          WHERE e.operation_id = a.operation_id
                            AND ((e.source = 'closure' AND e.verdict = 'not_taken' AND e.covers_until >= a.last_possible_send)
                              OR (e.source = 'answer' AND e.verdict = 'declined' AND e.fence = a.fence)
                              OR (e.covers_earlier AND e.fence > a.fence)))
    );
END
$$;
-- +goose StatementEnd

-- Pending evidence that no later no has answered: the provider has it.
-- +goose StatementBegin
CREATE FUNCTION provider_may_hold(operation uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN EXISTS (SELECT
               FROM public.evidence p
               WHERE p.operation_id = operation
                 AND (p.verdict = 'captured'
                   OR (p.verdict = 'pending'
                     AND NOT EXISTS (SELECT
                                     FROM public.evidence n
                                     WHERE n.operation_id = p.operation_id
                                       AND n.verdict IN ('declined', 'not_taken')
                                       AND n.asked_at > p.asked_at))));
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION guard_operation_move() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    why text;
BEGIN
    IF NEW.fence < OLD.fence THEN
        why := format('the fence may not fall from %s to %s', OLD.fence, NEW.fence);
    ELSIF NEW.state = OLD.state THEN
        RETURN NEW;
    ELSIF NOT EXISTS (SELECT FROM public.operation_arrow WHERE from_state = OLD.state AND to_state = NEW.state) THEN
        why := 'there is no such arrow';
    ELSIF NEW.state = 'processing' THEN
        IF NEW.fence <= OLD.fence THEN
            why := 'a claim needs a new fence';
        ELSIF public.provider_may_hold(NEW.id) THEN
            why := 'evidence says that the provider may already hold it';
        END IF;
    ELSIF NEW.state = 'succeeded' THEN
        IF NOT EXISTS (SELECT FROM public.evidence e
                       WHERE e.operation_id = NEW.id AND e.verdict = 'captured'
                         AND e.amount_minor = NEW.amount_minor AND e.currency = NEW.currency) THEN
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
    ELSIF NEW.state IN ('failed', 'created') THEN
        IF public.uncovered_attempts(NEW.id) > 0 THEN
            why := 'an attempt that may have been sent is not covered';
        ELSIF public.provider_may_hold(NEW.id) THEN
            why := 'evidence says that the provider may hold it';
        END IF;
    ELSIF NEW.state = 'pending' THEN
        IF NOT EXISTS (SELECT FROM public.evidence e WHERE e.operation_id = NEW.id AND e.verdict = 'pending') THEN
            why := 'no pending evidence';
        END IF;
    ELSIF NEW.state = 'unknown' AND OLD.state = 'created' THEN
        IF NOT public.provider_may_hold(NEW.id) THEN
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
CREATE TRIGGER operation_move_is_proven
    BEFORE UPDATE OF state, fence ON operation
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state OR NEW.fence < OLD.fence)
EXECUTE FUNCTION guard_operation_move();

-- +goose StatementBegin
CREATE FUNCTION refuse_birth() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    RAISE EXCEPTION '% % may only be born in state created, without fence or lease', TG_TABLE_NAME, NEW.id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'rows_are_born_created';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER operation_is_born_created
    BEFORE INSERT ON operation
    FOR EACH ROW WHEN (NEW.state <> 'created' OR NEW.fence <> 0 OR NEW.lease_until IS NOT NULL)
EXECUTE FUNCTION refuse_birth();
CREATE TRIGGER payment_is_born_created
    BEFORE INSERT ON payment
    FOR EACH ROW WHEN (NEW.state <> 'created' OR NEW.refunded_minor <> 0)
EXECUTE FUNCTION refuse_birth();

-- A charge is for its payment's amount: the two rows cannot drift apart.
-- +goose StatementBegin
CREATE FUNCTION guard_operation_amount() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NOT EXISTS (SELECT FROM public.payment p
                   WHERE p.id = NEW.payment_id AND p.currency = NEW.currency
                     AND (NEW.amount_minor = p.amount_minor OR (NEW.kind = 'refund' AND NEW.amount_minor < p.amount_minor))) THEN
        RAISE EXCEPTION 'operation % is not for the amount and currency of payment %', NEW.id, NEW.payment_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'an_operation_moves_its_payments_money';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER an_operation_moves_its_payments_money
    BEFORE INSERT ON operation
    FOR EACH ROW EXECUTE FUNCTION guard_operation_amount();

-- A payment shows what its charge is, never something better or worse.
-- +goose StatementBegin
CREATE FUNCTION guard_payment_state() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NOT EXISTS (SELECT FROM public.operation o
                   WHERE o.payment_id = NEW.id AND o.kind = 'charge'
                     AND NEW.state = CASE o.state WHEN 'succeeded' THEN 'captured' ELSE o.state END) THEN
        RAISE EXCEPTION 'payment % may not show % while its charge says otherwise', NEW.id, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_payment_shows_its_charge';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_payment_shows_its_charge
    BEFORE UPDATE OF state ON payment
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state)
EXECUTE FUNCTION guard_payment_state();

-- An invoice stays blocked until its payment is proven to have failed (U6, I9).
-- The transaction that held it may let go before it commits, because the other
-- identity of the same request was taken.
-- +goose StatementBegin
CREATE FUNCTION guard_identity_release() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF OLD.writer <> pg_current_xact_id()
        AND NOT EXISTS (SELECT FROM public.payment p WHERE p.id = OLD.payment_id AND p.state IN ('failed', 'canceled')) THEN
        RAISE EXCEPTION '% of payment % may not be released: it has neither failed nor been canceled', TG_TABLE_NAME, OLD.payment_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_live_payment_keeps_its_identity';
    END IF;
    RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_live_payment_keeps_its_identity
    BEFORE DELETE ON invoice_identity
    FOR EACH ROW EXECUTE FUNCTION guard_identity_release();
CREATE TRIGGER a_live_payment_keeps_its_reference
    BEFORE DELETE ON reference_identity
    FOR EACH ROW EXECUTE FUNCTION guard_identity_release();

-- What an attempt proved about itself is never taken back.
-- +goose StatementBegin
CREATE FUNCTION guard_attempt() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    RAISE EXCEPTION 'attempt % of operation % is finished and may not change', OLD.fence, OLD.operation_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'a_finished_attempt_stays';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_finished_attempt_stays
    BEFORE UPDATE ON attempt
    FOR EACH ROW WHEN (OLD.finished_at IS NOT NULL OR (NEW.not_sent AND NEW.finished_at IS NULL))
EXECUTE FUNCTION guard_attempt();

-- Nothing is known about an attempt before it was made.
-- +goose StatementBegin
CREATE FUNCTION guard_attempt_birth() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    RAISE EXCEPTION 'attempt % of operation % may not be born finished', NEW.fence, NEW.operation_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'an_attempt_is_born_open';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER an_attempt_is_born_open
    BEFORE INSERT ON attempt
    FOR EACH ROW WHEN (NEW.not_sent OR NEW.finished_at IS NOT NULL)
EXECUTE FUNCTION guard_attempt_birth();

-- The attempt row is the record of a possible send, and cover is counted over
-- attempts: a lease without one would be a send that nobody has to prove. Looked
-- at when the statement ends, because a claim writes both rows in one.
-- +goose StatementBegin
CREATE FUNCTION guard_lease() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NOT EXISTS (SELECT FROM public.attempt a
                   WHERE a.operation_id = NEW.id AND a.fence = NEW.fence
                     AND a.lease_until >= NEW.lease_until AND a.finished_at IS NULL) THEN
        RAISE EXCEPTION 'operation % may not be leased: no open attempt with fence % until %', NEW.id, NEW.fence, NEW.lease_until
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_lease_has_its_attempt';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_lease_has_its_attempt
    AFTER UPDATE OF lease_until, fence ON operation
    FOR EACH ROW WHEN (NEW.lease_until IS NOT NULL
        AND (OLD.lease_until IS DISTINCT FROM NEW.lease_until OR OLD.fence <> NEW.fence))
EXECUTE FUNCTION guard_lease();
