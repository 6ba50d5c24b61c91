-- It is no longer due, and shows up again after a while.
UPDATE operation
SET waits_for       = 'person',
    reason          = $3,
    next_attempt_at = NULL,
    next_check_at   = payonce_now() + $4::interval,
    updated_at      = payonce_now()
WHERE id = $1
  AND fence = $2
  AND state NOT IN ('succeeded', 'failed', 'canceled')
