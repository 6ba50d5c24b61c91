-- +goose Up

-- One row per message that a consumer has handled. It is written in the
-- transaction of the handler, so that row and effect exist together or not at
-- all. Deduplication must outlive the topic's retention: a consumer's rows may
-- be deleted only together with raising its floor.
CREATE TABLE processed_message (
	consumer     text        NOT NULL,
	message_id   uuid        NOT NULL,
	processed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (consumer, message_id)
);

-- A message whose record timestamp lies below its consumer's floor may have been
-- handled and forgotten; it is refused. No row: the consumer has no floor yet.
CREATE TABLE inbox_floor (
	consumer text        PRIMARY KEY,
	floor    timestamptz NOT NULL
);
