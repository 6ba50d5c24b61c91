-- The order is good for exactly this fence. Whatever moves the operation in
-- between also raises the fence, and the order falls with it. next_check_at is the
-- order's end: past it the reconciler takes the order back and asks again, so that
-- nothing waits for a worker that does not come.
UPDATE operation
SET resend_fence    = fence,
    next_attempt_at = payonce_now(),
    next_check_at   = payonce_now() + $3::interval,
    updated_at      = payonce_now()
WHERE id = $1
  AND state = 'unknown'
  AND fence = $2
  AND lease_until IS NULL
  AND NOT EXISTS (SELECT FROM evidence e WHERE e.operation_id = $1 AND e.source = 'closure')
