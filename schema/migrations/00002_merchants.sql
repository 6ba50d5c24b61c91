-- +goose Up

CREATE TABLE merchant
(
    id               uuid PRIMARY KEY,
    name             text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- The provider account that this merchant's operations are sent to. It is
    -- copied to the operation at accept: moving the merchant moves no open work.
    provider_account text        NOT NULL CHECK (provider_account ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    created_at       timestamptz NOT NULL DEFAULT payonce_now()
);

-- The secret is 256 random bits, so one SHA-256 is enough to keep it; a slow
-- hash protects guessable passwords, and this is none. The prefix finds the row.
CREATE TABLE api_key
(
    prefix      text PRIMARY KEY CHECK (length(prefix) = 12),
    merchant_id uuid        NOT NULL REFERENCES merchant (id),
    hash        bytea       NOT NULL CHECK (length(hash) = 32),
    created_at  timestamptz NOT NULL DEFAULT payonce_now(),
    revoked_at  timestamptz
);
CREATE INDEX api_key_merchant ON api_key (merchant_id);

GRANT SELECT, INSERT ON merchant TO payonce_app;
GRANT SELECT, INSERT ON api_key TO payonce_app;
GRANT UPDATE (revoked_at) ON api_key TO payonce_app;
