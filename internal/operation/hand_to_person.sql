UPDATE operation
SET waits_for  = 'person',
    reason     = $3,
    updated_at = payonce_now()
WHERE id = $1
  AND fence = $2
  AND state NOT IN ('succeeded', 'failed', 'canceled')
