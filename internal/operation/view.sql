-- The reason is the charge's own: what merely waits says why without a change of
-- state, and so without one of the payment.
--
-- LIMIT keeps the server from joining in another order: with statistics of empty
-- tables it would read all charges first, in a plan that it then keeps. And whose the
-- payment is is compared outside of it: beside the id, the indexes of the lists would
-- look as good as the key on an empty table, and read all that the merchant has.
SELECT p.id, o.id, p.state, p.amount_minor, p.currency, p.invoice_id, p.payment_type, p.external_reference, o.reason,
       p.refunded_minor, coalesce(o.next_check_at, o.next_attempt_at, o.lease_until), p.created_at, p.updated_at
FROM unnest($1::uuid[], $2::uuid[]) AS wanted (id, merchant_id)
         CROSS JOIN LATERAL (SELECT id, merchant_id, state, amount_minor, currency, invoice_id, payment_type, external_reference,
                                    refunded_minor, created_at, updated_at
                             FROM payment
                             WHERE id = wanted.id
                             LIMIT 1) AS p
         CROSS JOIN LATERAL (SELECT id, reason, next_check_at, next_attempt_at, lease_until
                             FROM operation
                             WHERE payment_id = p.id
                               AND kind = 'charge'
                             LIMIT 1) AS o
WHERE p.merchant_id = wanted.merchant_id
