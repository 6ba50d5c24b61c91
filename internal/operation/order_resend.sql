-- The order is good for exactly this fence. Whatever moves the operation in
-- between also raises the fence, and the order falls with it.
UPDATE operation
SET resend_fence    = fence,
    next_attempt_at = payonce_now(),
    next_check_at   = NULL,
    updated_at      = payonce_now()
WHERE id = $1
  AND state = 'unknown'
  AND fence = $2
  AND lease_until IS NULL
