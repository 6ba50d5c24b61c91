-- The role of the connection and the role it acts as are both looked at: after
-- SET ROLE the first one is a RESET ROLE away.
WITH role AS (
	SELECT oid, rolname, rolsuper
	FROM pg_roles
	WHERE rolname IN (session_user, current_user)
)
SELECT current_setting('server_version_num')::int / 10000,
       current_setting('synchronous_commit'),
       current_setting('synchronous_standby_names') <> '',
       current_setting('fsync')::bool,
       session_user::text,
       (SELECT bool_or(rolsuper) FROM role),
       -- Being a member of the tables' owner is as good as being it.
       EXISTS (
	       SELECT FROM pg_class c, role r
	       WHERE c.relnamespace = 'public'::regnamespace
	         AND c.relkind IN ('r', 'p')
	         AND pg_has_role(r.oid, c.relowner, 'MEMBER')
       ) OR EXISTS (
	       SELECT FROM pg_roles o, role r
	       WHERE o.rolname = 'payonce_owner'
	         AND pg_has_role(r.oid, o.oid, 'MEMBER')
       ),
       current_setting('default_transaction_isolation')
