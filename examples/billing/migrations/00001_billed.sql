-- +goose Up

-- What billing has to do once per captured payment: here, one row. The primary key
-- is the second guard behind the inbox; no payment is billed twice whatever a
-- consumer forgets.
CREATE TABLE billed (
	payment_id   uuid        PRIMARY KEY,
	invoice_id   text        NOT NULL,
	merchant_id  uuid        NOT NULL,
	amount_minor bigint      NOT NULL CHECK (amount_minor > 0),
	currency     text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
	captured_at  timestamptz NOT NULL,
	event_id     uuid        NOT NULL UNIQUE
);
