-- What PostgreSQL's image runs on an empty server, after schema/roles.sql: the
-- roles' passwords, and a database each for payonce and for billing, into which
-- nobody else may look. psql takes the passwords from its environment.
\getenv owner_password OWNER_PASSWORD
\getenv app_password APP_PASSWORD
\getenv billing_password BILLING_PASSWORD

ALTER ROLE payonce_owner PASSWORD :'owner_password';
ALTER ROLE payonce_app PASSWORD :'app_password';
CREATE ROLE billing LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'billing_password';

CREATE DATABASE payonce OWNER payonce_owner;
REVOKE ALL ON DATABASE payonce FROM PUBLIC;
GRANT CONNECT ON DATABASE payonce TO payonce_app;

CREATE DATABASE billing OWNER billing;
REVOKE ALL ON DATABASE billing FROM PUBLIC;

-- Only the owner may do anything in the schema; the migrations grant the rest.
\connect payonce
REVOKE ALL ON SCHEMA public FROM PUBLIC;
