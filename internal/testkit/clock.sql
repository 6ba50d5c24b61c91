-- Replaces the database's clock by one that a test moves. It keeps running: the
-- test chooses how far it is from the real time.
CREATE TABLE testkit_clock (ahead interval NOT NULL);
INSERT INTO testkit_clock (ahead) VALUES ('0');
GRANT SELECT ON testkit_clock TO payonce_app;

CREATE OR REPLACE FUNCTION payonce_now() RETURNS timestamptz
	LANGUAGE sql VOLATILE PARALLEL SAFE
	AS 'SELECT clock_timestamp() + ahead FROM testkit_clock';
