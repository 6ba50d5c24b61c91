-- A refund of one merchant. Another merchant's refund is absent.
SELECT o.id, o.payment_id, o.refund_reference, o.state, o.amount_minor, o.currency, o.reason,
       coalesce(o.next_check_at, o.next_attempt_at, o.lease_until), o.created_at, o.updated_at
FROM operation o
         JOIN payment p ON p.id = o.payment_id
WHERE o.id = $1
  AND o.refund_reference IS NOT NULL
  AND p.merchant_id = $2
