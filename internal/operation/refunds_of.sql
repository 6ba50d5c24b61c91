-- A payment's refunds, oldest first, after the last one of the page before.
SELECT id, payment_id, refund_reference, state, amount_minor, currency, reason,
       coalesce(next_check_at, next_attempt_at, lease_until), created_at, updated_at
FROM operation
WHERE payment_id = $1
  AND refund_reference IS NOT NULL
  AND id > $2
ORDER BY id
LIMIT $3
