-- +goose Up

-- The database's clock is the only one that decides about leases, horizons and
-- evidence. Services call this function and never now(): now() stands still
-- inside a transaction, and tests replace this function in their own database.
CREATE FUNCTION payonce_now() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT clock_timestamp()';

GRANT USAGE ON SCHEMA public TO payonce_app;

-- What may not be changed refuses it, from every role, and says so.
-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    RAISE EXCEPTION 'rows of % are never changed: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd
