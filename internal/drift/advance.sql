-- The row is held, with its version checked, by the same transaction.
UPDATE drift_scan
SET phase           = $2,
    list_cursor     = $3,
    after_operation = $4,
    pages           = $5,
    listed          = $6,
    told            = $7,
    asked           = $8,
    found           = $9,
    lease_until     = CASE WHEN $2 = 'done' THEN NULL ELSE payonce_now() + $10::interval END,
    finished_at     = CASE WHEN $2 = 'done' THEN payonce_now() END
WHERE id = $1
RETURNING payonce_now(), finished_at
