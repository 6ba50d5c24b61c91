-- +goose Up

-- The tables come with pkg/inbox, whose migrations run before these.
GRANT SELECT, INSERT ON processed_message TO payonce_app;
GRANT SELECT ON inbox_floor TO payonce_app;
