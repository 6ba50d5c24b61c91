-- An account that was never scanned has no mark yet: this is the one that know.sql would set.
SELECT payonce_now(),
       coalesce((SELECT scanned_until FROM drift_scanned WHERE provider_account = $1 AND identity = $2),
                (SELECT created_at - interval '1 hour' FROM operation ORDER BY id LIMIT 1),
                payonce_now()),
       coalesce((SELECT id
                 FROM drift_scan
                 WHERE provider_account = $1
                   AND identity = $2
                   AND from_at = $3
                   AND to_at = $4
                   AND finished_at IS NULL), '00000000-0000-0000-0000-000000000000'),
       (SELECT count(*)
        FROM (SELECT FROM operation WHERE id > $5 AND id < $6 AND provider_account = $1 AND state = 'succeeded' LIMIT $7) AS counted)
