-- +goose Up
SET LOCAL lock_timeout = '1s';

-- As many rows go as come. With the default a fifth of the table would be dead rows
-- before they are cleaned up, and each walk would begin with them.
ALTER TABLE idempotency_key SET (autovacuum_vacuum_scale_factor = 0.02);

-- A payment can be open for longer than the window, and its client can be repeating the
-- request all the time. So a key answers for a day after its answer came, too. Answers
-- that were stored before have no time of their own, and count from the key's.
ALTER TABLE idempotency_key
    ADD COLUMN answered_at timestamptz,
    ADD CONSTRAINT only_an_answer_has_a_time CHECK (answered_at IS NULL OR status IS NOT NULL) NOT VALID;
GRANT UPDATE (answered_at) ON idempotency_key TO payonce_app;

-- A window that is set too short, or a sweep gone wrong, must not take a key away from
-- a client that still retries. accept takes back, in the transaction that reserved
-- them, the keys of requests that it refuses: nothing stands behind those.
-- +goose StatementBegin
CREATE FUNCTION guard_key_age() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF EXISTS (SELECT FROM public.payment p WHERE p.id = OLD.resource_id)
        OR EXISTS (SELECT FROM public.operation o WHERE o.id = OLD.resource_id) THEN
        RAISE EXCEPTION 'this idempotency key stands for %, and it or its answer is younger than a day', OLD.resource_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'keys_answer_for_a_day';
    END IF;
    RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER keys_answer_for_a_day
    BEFORE DELETE ON idempotency_key
    FOR EACH ROW WHEN (greatest(OLD.created_at, OLD.answered_at) > payonce_now() - interval '24 hours') -- NULL counts for nothing
EXECUTE FUNCTION guard_key_age();

-- A key stands for something whole: whatever a caller commits, and whoever forgot to roll
-- back. A poisoned key would answer each repeat with a payment that does not exist, for
-- ever. Two probes of an index at the commit.
--
-- A key that its own transaction took back is none, and the key of a cancel stands for
-- its answer, which the same commit stores.
-- +goose StatementBegin
CREATE FUNCTION guard_key_resource() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NEW.route = 'payments' THEN
        -- No join: planned while the tables are empty, it reads all operations for ever.
        IF EXISTS (SELECT FROM public.operation o WHERE o.payment_id = NEW.resource_id AND o.kind = 'charge')
            AND EXISTS (SELECT FROM public.payment_history h WHERE h.payment_id = NEW.resource_id AND h.event_id IS NOT NULL) THEN
            RETURN NULL;
        END IF;
    ELSIF EXISTS (SELECT FROM public.payment_history h
                  WHERE h.payment_id = (SELECT o.payment_id FROM public.operation o WHERE o.id = NEW.resource_id)
                    AND h.operation_id = NEW.resource_id
                    AND h.event_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM public.idempotency_key k
               WHERE k.merchant_id = NEW.merchant_id
                 AND k.route = NEW.route
                 AND k.key = NEW.key
                 AND k.resource_id = NEW.resource_id
                 AND (k.route <> 'cancel' OR k.status IS NULL)) THEN
        RAISE EXCEPTION 'this idempotency key stands for %, which is not there or not whole', NEW.resource_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_key_stands_for_something_whole';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER a_key_stands_for_something_whole
    AFTER INSERT ON idempotency_key
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION guard_key_resource();
