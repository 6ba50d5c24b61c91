-- Run once, as a superuser, in payonce's database:
--
--	psql -v ON_ERROR_STOP=1 -f setup.sql "$ADMIN_URL"
--
-- The role may do to payonce's tables what payonce's services may, and owns nothing
-- but its own. Set its password afterwards, with \password shop.
CREATE ROLE shop LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;
GRANT payonce_app TO shop;

CREATE SCHEMA shop AUTHORIZATION shop;
ALTER ROLE shop SET search_path = shop, public;

CREATE TABLE shop.customer_order
(
    id          uuid PRIMARY KEY, -- the customer's intent, and the payment's invoice
    item        text        NOT NULL CHECK (item <> ''),
    payment_key uuid        NOT NULL, -- UUIDv7 of the first click; every repeat takes it from here
    payment_id  uuid,             -- set in the transaction that inserts the row
    ordered_at  timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE shop.customer_order OWNER TO shop;
