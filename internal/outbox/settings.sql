-- For this transaction only, so that a transaction pooler can be in between.
--
-- The planner's choice is fixed: the outbox goes from empty to millions of rows
-- and back faster than statistics follow, and any plan but a walk along the
-- primary key would read all of it to find a few rows. Compiling such a statement
-- takes longer than running it.
--
-- A relay whose host vanished, or that is frozen, loses its lanes after 15 s. The
-- first timeout sees it while the server waits for the relay's next statement, the
-- second one while the server waits for it to take the rows. Only Linux has that
-- one; elsewhere a server would log a complaint each time.
SELECT set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('jit', 'off', true),
       set_config('idle_in_transaction_session_timeout', '15s', true),
       CASE WHEN strpos(version(), 'linux') > 0 THEN set_config('tcp_user_timeout', '15s', true) END
