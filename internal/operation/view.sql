-- The reason is the charge's own: what merely waits says why without a change of
-- state, and so without one of the payment.
SELECT p.id, o.id, p.state, p.amount_minor, p.currency, p.invoice_id, p.payment_type, p.external_reference, o.reason,
       p.refunded_minor, coalesce(o.next_check_at, o.next_attempt_at, o.lease_until), p.created_at, p.updated_at
FROM unnest($1::uuid[], $2::uuid[]) AS wanted (id, merchant_id)
         JOIN payment p ON p.id = wanted.id AND p.merchant_id = wanted.merchant_id
         JOIN operation o ON o.payment_id = p.id AND o.kind = 'charge'
