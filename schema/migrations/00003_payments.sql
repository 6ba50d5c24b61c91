-- +goose Up

CREATE TABLE payment
(
    id                 uuid PRIMARY KEY,
    merchant_id        uuid        NOT NULL REFERENCES merchant (id),
    invoice_id         text        NOT NULL,
    payment_type       text        NOT NULL,
    external_reference text,
    amount_minor       bigint      NOT NULL CHECK (amount_minor > 0),
    currency           text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    payment_method     text, -- the provider's token; never leaves this table but to the provider
    customer           text, -- the provider's name for the customer
    metadata           jsonb,
    charge_before      timestamptz,
    -- The projection of the charge, written in the same transaction as the charge.
    state              text        NOT NULL DEFAULT 'created',
    reason             text,
    refunded_minor     bigint      NOT NULL DEFAULT 0 CHECK (refunded_minor BETWEEN 0 AND amount_minor),
    -- What every event of this payment carries on from the request (R8).
    trace_parent       text        NOT NULL,
    correlation_id     text        NOT NULL,
    idempotency_key    text        NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT payonce_now(),
    updated_at         timestamptz NOT NULL DEFAULT payonce_now()
);
CREATE INDEX payment_by_invoice ON payment (merchant_id, invoice_id);

-- One money movement at one provider account. Its id names it everywhere: it is
-- the provider's idempotency key and reference, and never changes.
CREATE TABLE operation
(
    id                 uuid PRIMARY KEY,
    payment_id         uuid        NOT NULL REFERENCES payment (id),
    kind               text        NOT NULL CHECK (kind IN ('charge', 'refund', 'void')),
    provider_account   text        NOT NULL,
    amount_minor       bigint      NOT NULL CHECK (amount_minor > 0),
    currency           text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    charge_before      timestamptz, -- no send, first or repeated, at or after this moment
    state              text        NOT NULL DEFAULT 'created',
    reason             text,
    -- Rises with every claim, takeover, resend and outside outcome. A result
    -- that comes with an older fence is evidence, never a decision.
    fence              bigint      NOT NULL DEFAULT 0,
    lease_until        timestamptz, -- set while a worker may be sending
    next_attempt_at    timestamptz, -- the due list: created, or a resend order
    -- A resend order of the reconciler, good for exactly this fence.
    resend_fence       bigint,
    next_check_at      timestamptz, -- when the reconciler asks next
    checks             integer     NOT NULL DEFAULT 0,
    open_since         timestamptz, -- when the outcome became pending or unknown
    waits_for          text        NOT NULL DEFAULT 'machine' CHECK (waits_for IN ('machine', 'person')),
    provider_object_id text,        -- the provider's own id, once it told us
    created_at         timestamptz NOT NULL DEFAULT payonce_now(),
    updated_at         timestamptz NOT NULL DEFAULT payonce_now(),
    CONSTRAINT a_resend_order_is_for_an_unknown_operation
        CHECK (resend_fence IS NULL OR (state = 'unknown' AND resend_fence = fence AND next_attempt_at IS NOT NULL)),
    CONSTRAINT only_what_may_be_in_flight_is_leased
        CHECK (lease_until IS NULL OR state IN ('processing', 'unknown')),
    CONSTRAINT processing_has_a_lease
        CHECK (state <> 'processing' OR lease_until IS NOT NULL),
    CONSTRAINT only_what_waits_to_be_sent_is_due
        CHECK (next_attempt_at IS NULL OR state = 'created' OR resend_fence IS NOT NULL),
    CONSTRAINT what_is_open_is_looked_at_again
        CHECK (state NOT IN ('pending', 'unknown')
            OR next_check_at IS NOT NULL OR lease_until IS NOT NULL OR resend_fence IS NOT NULL)
);
CREATE UNIQUE INDEX operation_one_charge_per_payment ON operation (payment_id) WHERE kind = 'charge';
CREATE INDEX operation_by_payment ON operation (payment_id);
CREATE INDEX operation_due ON operation (provider_account, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX operation_to_expire ON operation (provider_account, charge_before)
    WHERE charge_before IS NOT NULL AND state = 'created';
CREATE INDEX operation_leased ON operation (provider_account, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX operation_to_check ON operation (provider_account, next_check_at) WHERE next_check_at IS NOT NULL;
ALTER TABLE operation SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- One row for each time that a worker was allowed to send: the durable record
-- of a possible send, committed before the first byte can leave.
CREATE TABLE attempt
(
    operation_id       uuid        NOT NULL REFERENCES operation (id),
    fence              bigint      NOT NULL CHECK (fence > 0),
    worker             text        NOT NULL,
    recipe             text        NOT NULL, -- how the request's bytes follow from the operation, with version
    claimed_at         timestamptz NOT NULL,
    lease_until        timestamptz NOT NULL,
    -- Lease end plus the allowance for bytes that were already under way.
    last_possible_send timestamptz NOT NULL CHECK (last_possible_send >= lease_until),
    -- The sender's own trace of its one request shows that no byte left.
    not_sent           boolean     NOT NULL DEFAULT false,
    finished_at        timestamptz,
    PRIMARY KEY (operation_id, fence)
);

-- One live payment for each invoice and type of a merchant (I9). A row is
-- inserted at accept and goes when the payment failed or was canceled. It is a
-- table of its own because it must stay unique when payments are partitioned,
-- and because a partial index over state would end HOT updates of payments.
CREATE TABLE invoice_identity
(
    merchant_id  uuid NOT NULL,
    invoice_id   text NOT NULL,
    payment_type text NOT NULL,
    payment_id   uuid NOT NULL,
    writer       xid8 NOT NULL DEFAULT pg_current_xact_id(), -- only it may take the row back
    PRIMARY KEY (merchant_id, invoice_id, payment_type)
);
CREATE INDEX invoice_identity_payment ON invoice_identity (payment_id);

CREATE TABLE reference_identity
(
    merchant_id        uuid NOT NULL,
    external_reference text NOT NULL,
    payment_id         uuid NOT NULL,
    writer             xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (merchant_id, external_reference)
);
CREATE INDEX reference_identity_payment ON reference_identity (payment_id);

-- An identity is held or released and never passed on. (Locking a row needs the
-- right to update it, which is granted below for that alone.)
CREATE TRIGGER invoice_identity_is_held_or_released
    BEFORE UPDATE OR TRUNCATE ON invoice_identity
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reference_identity_is_held_or_released
    BEFORE UPDATE OR TRUNCATE ON reference_identity
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What happened to a payment, in order of seq, with the event that told it as
-- it was published, so that it can be published again byte for byte.
CREATE TABLE payment_history
(
    payment_id   uuid        NOT NULL REFERENCES payment (id),
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    operation_id uuid        NOT NULL,
    from_state   text, -- null: the payment was accepted
    to_state     text        NOT NULL,
    fence        bigint      NOT NULL,
    reason       text,
    event_id     uuid,
    event_type   text,
    event_topic  text,
    headers      jsonb,
    payload      bytea,
    created_at   timestamptz NOT NULL DEFAULT payonce_now(),
    PRIMARY KEY (payment_id, seq),
    CONSTRAINT an_event_is_whole_or_absent CHECK (num_nonnulls(event_id, event_type, event_topic, headers, payload) IN (0, 5))
);
CREATE TRIGGER payment_history_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON payment_history
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Columns that are not granted are fixed at accept: who, what, how much.
GRANT SELECT, INSERT ON payment, operation, attempt, payment_history TO payonce_app;
GRANT SELECT, DELETE ON invoice_identity, reference_identity TO payonce_app;
GRANT UPDATE (writer) ON invoice_identity, reference_identity TO payonce_app; -- for FOR UPDATE
GRANT INSERT (merchant_id, invoice_id, payment_type, payment_id) ON invoice_identity TO payonce_app;
GRANT INSERT (merchant_id, external_reference, payment_id) ON reference_identity TO payonce_app;
GRANT UPDATE (state, reason, refunded_minor, updated_at) ON payment TO payonce_app;
GRANT UPDATE (state, reason, fence, lease_until, next_attempt_at, resend_fence, next_check_at, checks, open_since,
              waits_for, provider_object_id, updated_at) ON operation TO payonce_app;
GRANT UPDATE (not_sent, finished_at) ON attempt TO payonce_app;
