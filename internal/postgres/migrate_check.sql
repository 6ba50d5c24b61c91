SELECT current_setting('server_version_num')::int / 10000,
       current_user::text,
       EXISTS (SELECT FROM pg_roles WHERE rolname = 'payonce_app')
