UPDATE drift_finding
SET state        = 'explained',
    explained_by = $2,
    reason       = $3,
    explained_at = payonce_now()
WHERE id = $1
  AND state = 'open'
