-- What the caller had.
SELECT set_config('lock_timeout', $1, true),
       set_config('search_path', $2, true),
       set_config('enable_seqscan', $3, true),
       set_config('enable_hashjoin', $4, true),
       set_config('enable_mergejoin', $5, true)
