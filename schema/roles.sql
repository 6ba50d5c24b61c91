-- The two roles of payonce. A superuser runs this once per server; running it
-- again changes nothing. Passwords are not set here.
--
--   payonce_owner  owns the tables and migrates them; used by `payctl migrate` only
--   payonce_app    is what the services connect as; it owns nothing, so that the
--                  guards in the database hold for it too
DO $$
DECLARE
	wanted text;
BEGIN
	-- Roles belong to the whole server: two runs at once would both find a role
	-- missing, and the second CREATE would fail.
	PERFORM pg_advisory_xact_lock(hashtextextended('payonce roles', 0));
	FOREACH wanted IN ARRAY ARRAY['payonce_owner', 'payonce_app'] LOOP
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
			EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE', wanted);
		END IF;
	END LOOP;
END
$$;

-- Every statement of the services looks rows up by key. A table that was empty
-- when a plan was made and cached looks cheaper to read whole than by any index,
-- and that plan stays in use while the table grows to millions of rows. Settings
-- of a role also hold through a transaction pooler.
ALTER ROLE payonce_app SET enable_seqscan = off;
ALTER ROLE payonce_app SET enable_hashjoin = off;
ALTER ROLE payonce_app SET enable_mergejoin = off;
-- A table that must be read whole all the same then has a price that makes the
-- server compile the statement first, which takes a hundred times as long as a
-- small table does.
ALTER ROLE payonce_app SET jit = off;
