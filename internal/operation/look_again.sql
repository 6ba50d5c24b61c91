UPDATE operation o
SET next_check_at = payonce_now() + $3::interval,
    waits_for     = $4,
    updated_at    = payonce_now()
WHERE id = $1
  AND fence = $2
  AND state IN ('created', 'pending', 'unknown')
  AND resend_fence IS NULL
  AND lease_until IS NULL
