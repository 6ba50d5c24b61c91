-- A refund of one merchant. Another merchant's refund is absent. LIMIT keeps the payment's
-- look-up on its key, as in view.sql.
SELECT o.id, o.payment_id, o.refund_reference, o.state, o.amount_minor, o.currency, o.reason,
       coalesce(o.next_check_at, o.next_attempt_at, o.lease_until), o.created_at, o.updated_at
FROM operation o
         CROSS JOIN LATERAL (SELECT merchant_id FROM payment WHERE id = o.payment_id LIMIT 1) AS p
WHERE o.id = $1
  AND o.refund_reference IS NOT NULL
  AND p.merchant_id = $2
