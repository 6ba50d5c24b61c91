-- +goose Up
SET LOCAL lock_timeout = '1s';

-- What a merchant has of its own. A limit that is null is the process's.
ALTER TABLE merchant
    ADD COLUMN rate_limit         integer CHECK (rate_limit BETWEEN 1 AND 100000), -- requests per second and intake process
    ADD COLUMN rate_burst         integer CHECK (rate_burst BETWEEN 1 AND 1000000),
    -- Card numbers are looked for in invoiceId, externalReference and keys too.
    ADD COLUMN checks_identifiers boolean NOT NULL DEFAULT false,
    -- Old clients without Idempotency-Key: the key is derived from the invoice.
    ADD COLUMN derives_keys       boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT a_rate_limit_has_a_burst CHECK ((rate_limit IS NULL) = (rate_burst IS NULL));
GRANT UPDATE (rate_limit, rate_burst, checks_identifiers, derives_keys) ON merchant TO payonce_app;

-- What people decided about merchants, and why.
CREATE TABLE merchant_change
(
    id          uuid PRIMARY KEY,
    merchant_id uuid        NOT NULL REFERENCES merchant (id),
    change      text        NOT NULL CHECK (length(change) BETWEEN 1 AND 200), -- never holds a secret
    who         text        NOT NULL CHECK (length(who) BETWEEN 1 AND 200),
    reason      text        NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
    changed_at  timestamptz NOT NULL DEFAULT payonce_now()
);
CREATE INDEX merchant_change_by_merchant ON merchant_change (merchant_id, changed_at, id);
CREATE TRIGGER merchant_change_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON merchant_change
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
GRANT SELECT, INSERT ON merchant_change TO payonce_app;
