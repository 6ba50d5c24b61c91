-- A resend order that no longer holds goes back to the reconciler, which derives
-- the next step from what is true now. The look comes later the longer the
-- operation is open, so that an order which can never hold is no hot loop.
UPDATE operation
SET resend_fence    = NULL,
    next_attempt_at = NULL,
    next_check_at   = payonce_now() + greatest(interval '1 second', least(interval '1 hour', payonce_now() - coalesce(open_since, payonce_now()))),
    updated_at      = payonce_now()
WHERE id = ANY ($1::uuid[])
  AND state = 'unknown'
  AND resend_fence IS NOT NULL
