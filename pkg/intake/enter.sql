-- The caller's settings, and then payonce's for the time of one call. Values are
-- evaluated from left to right, so that the first seven are the caller's.
--
-- The services' role looks rows up by index, because a plan that was made while a
-- table was empty may read it whole for ever; a caller's own role does not know
-- that. The tables are found whatever the caller's search path is, and a table of
-- the caller's with one of their names is not taken for them.
SELECT current_setting('lock_timeout'),
       current_setting('search_path'),
       current_setting('enable_seqscan'),
       current_setting('enable_hashjoin'),
       current_setting('enable_mergejoin'),
       current_setting('transaction_isolation'),
       current_setting('synchronous_commit'),
       set_config('lock_timeout', $1, true),
       set_config('search_path', 'public, pg_temp', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true)
