-- +goose Up

-- The client's key, the fingerprint of what it asked for, and the answer that
-- every repeat gets. Scope: merchant and route (the command's name).
CREATE TABLE idempotency_key
(
    merchant_id uuid        NOT NULL,
    route       text        NOT NULL,
    key         text        NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    fingerprint bytea       NOT NULL CHECK (length(fingerprint) = 32),
    fields      jsonb       NOT NULL, -- the canonical request: names which fields differ
    resource_id uuid        NOT NULL, -- the payment
    status      smallint,             -- null while the payment is open
    body        bytea,
    created_at  timestamptz NOT NULL DEFAULT payonce_now(),
    PRIMARY KEY (merchant_id, route, key),
    CONSTRAINT an_answer_is_whole_or_absent CHECK ((status IS NULL) = (body IS NULL))
);
CREATE INDEX idempotency_key_resource ON idempotency_key (resource_id);

-- The answer is written once: the second request gets the first one's (P6).
-- +goose StatementBegin
CREATE FUNCTION guard_stored_answer() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'the answer for this idempotency key is stored and may not change'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_stored_answer_stays';
    END IF;
    IF EXISTS (SELECT FROM public.payment p WHERE p.id = OLD.resource_id AND p.state NOT IN ('captured', 'failed', 'canceled')) THEN
        RAISE EXCEPTION 'this idempotency key belongs to payment %, which is still open', OLD.resource_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'an_open_payment_keeps_its_key';
    END IF;
    RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_stored_answer_stays
    BEFORE UPDATE ON idempotency_key
    FOR EACH ROW WHEN (OLD.status IS NOT NULL)
EXECUTE FUNCTION guard_stored_answer();
CREATE TRIGGER an_open_payment_keeps_its_key
    BEFORE DELETE ON idempotency_key
    FOR EACH ROW EXECUTE FUNCTION guard_stored_answer();

GRANT SELECT, INSERT, DELETE ON idempotency_key TO payonce_app;
GRANT UPDATE (status, body) ON idempotency_key TO payonce_app;
