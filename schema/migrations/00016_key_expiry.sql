-- +goose Up

-- Keys are swept from the oldest on. New ones go to the index's end.
CREATE INDEX idempotency_key_by_age ON idempotency_key (created_at);
-- As many rows go as come. With the default a fifth of the table would be dead rows
-- before they are cleaned up, and each walk would begin with them.
ALTER TABLE idempotency_key SET (autovacuum_vacuum_scale_factor = 0.02);

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
        RAISE EXCEPTION 'this idempotency key stands for % and is younger than a day', OLD.resource_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'keys_answer_for_a_day';
    END IF;
    RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER keys_answer_for_a_day
    BEFORE DELETE ON idempotency_key
    FOR EACH ROW WHEN (OLD.created_at > payonce_now() - interval '24 hours')
EXECUTE FUNCTION guard_key_age();
