SELECT id, payment_id, refund_reference, state, amount_minor, currency, reason,
       coalesce(next_check_at, next_attempt_at, lease_until), created_at, updated_at
FROM operation
WHERE payment_id = $1
  AND refund_reference = $2
