UPDATE provider_event
SET next_try_at = payonce_now() + $3::interval,
    reason      = $4
WHERE id = $1
  AND tries = $2
  AND state = 'waiting'
