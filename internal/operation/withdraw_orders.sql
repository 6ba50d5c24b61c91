-- A resend order that no longer holds goes back to the reconciler at once,
-- which derives the next step from what is true now.
UPDATE operation
SET resend_fence    = NULL,
    next_attempt_at = NULL,
    next_check_at   = payonce_now(),
    updated_at      = payonce_now()
WHERE id = ANY ($1::uuid[])
  AND state = 'unknown'
  AND resend_fence IS NOT NULL
