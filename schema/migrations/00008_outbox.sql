-- +goose Up

-- Rows that are committed and not yet acknowledged by the broker.
--
-- lane = murmur2(payment id as text) & 0x7fffffff mod 64, the hash of Kafka's
-- default partitioner: a lane never spans partitions while a topic has a power
-- of two of partitions up to 64. A relay holds a lane by locking its row in
-- outbox_lane, and publishes the lane's rows in order of seq.
--
-- seq is a sequence with cache 1. Two transactions of one payment are
-- serialised by the payment's row lock and insert after taking it, so within a
-- payment seq is the order of commits. Between payments it is no order at all.
CREATE TABLE outbox
(
    lane       smallint    NOT NULL CHECK (lane BETWEEN 0 AND 63),
    seq        bigint GENERATED ALWAYS AS IDENTITY,
    event_id   uuid        NOT NULL,
    topic      text        NOT NULL,
    key        uuid        NOT NULL, -- payment id
    headers    jsonb       NOT NULL, -- [{"n": name, "v": value}], in order
    payload    bytea       NOT NULL CHECK (length(payload) <= 65536),
    writer     xid8        NOT NULL DEFAULT pg_current_xact_id(),
    created_at timestamptz NOT NULL DEFAULT payonce_now(),
    PRIMARY KEY (lane, seq)
);
ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0.0, autovacuum_vacuum_insert_threshold = 10000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE outbox_lane
(
    lane smallint PRIMARY KEY CHECK (lane BETWEEN 0 AND 63)
);
INSERT INTO outbox_lane (lane)
SELECT generate_series(0, 63);

-- Rows that can never be published, with the reason, and behind them every
-- later row of the same payment: an outcome must not overtake what came before.
CREATE TABLE outbox_parked
(
    lane       smallint    NOT NULL,
    seq        bigint      NOT NULL,
    event_id   uuid        NOT NULL,
    topic      text        NOT NULL,
    key        uuid        NOT NULL,
    headers    jsonb       NOT NULL,
    payload    bytea       NOT NULL,
    reason     text        NOT NULL,
    created_at timestamptz NOT NULL,
    parked_at  timestamptz NOT NULL DEFAULT payonce_now(),
    PRIMARY KEY (lane, seq)
);
CREATE INDEX outbox_parked_key ON outbox_parked (key);

GRANT SELECT, INSERT, DELETE ON outbox, outbox_parked TO payonce_app;
GRANT SELECT, UPDATE ON outbox_lane TO payonce_app; -- FOR UPDATE needs UPDATE; nothing is ever changed
