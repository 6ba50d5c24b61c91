SELECT payonce_now(),
       (SELECT scanned_until FROM drift_scanned WHERE provider_account = $1 AND identity = $2),
       coalesce((SELECT id
                 FROM drift_scan
                 WHERE provider_account = $1
                   AND identity = $2
                   AND from_at = $3
                   AND to_at = $4
                   AND finished_at IS NULL), '00000000-0000-0000-0000-000000000000'),
       (SELECT count(*)
        FROM (SELECT FROM operation WHERE id > $5 AND id < $6 AND provider_account = $1 AND state = 'succeeded' LIMIT $7) AS counted)
