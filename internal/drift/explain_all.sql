UPDATE drift_finding
SET state        = 'explained',
    explained_by = $4,
    reason       = $5,
    explained_at = payonce_now()
WHERE id = ANY (ARRAY(SELECT id
                      FROM drift_finding
                      WHERE provider_account = $1
                        AND kind = $2
                        AND operation_id = ANY ($3::uuid[])
                        AND object_id = $6
                        AND state = 'open'
                      ORDER BY id FOR UPDATE))
