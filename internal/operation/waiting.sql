-- Open operations, by id, which is by age. What is open has a next look or a lease,
-- and what waits for a person a next look; each has a partial index, so that nothing
-- is read of what is final.
--
-- The cursor stands outside of the list, and LIMIT inside of the look-ups: with
-- statistics of empty tables the server would read all operations by their key.
WITH open AS MATERIALIZED (SELECT id FROM operation WHERE next_check_at IS NOT NULL
                           UNION
                           SELECT id FROM operation WHERE lease_until IS NOT NULL)
SELECT o.id, o.payment_id, p.merchant_id, p.invoice_id, o.kind, o.provider_account, o.amount_minor, o.currency, o.state,
       coalesce(o.reason, ''), o.since, payonce_now(), coalesce(o.next_check_at, o.next_attempt_at, o.lease_until), o.waits_for
FROM open
         CROSS JOIN LATERAL (SELECT id, payment_id, kind, provider_account, amount_minor, currency, state, reason,
                                    coalesce(open_since, created_at) AS since, next_check_at, next_attempt_at, lease_until, waits_for
                             FROM operation
                             WHERE id = open.id
                             LIMIT 1) AS o
         CROSS JOIN LATERAL (SELECT merchant_id, invoice_id FROM payment WHERE id = o.payment_id LIMIT 1) AS p
WHERE open.id > $4
  AND (o.state IN ('pending', 'unknown') OR o.waits_for = 'person')
  AND ($1::text = '' OR o.provider_account = $1)
  AND ($2::text = '' OR o.waits_for = $2)
  AND o.since <= payonce_now() - $3::interval
ORDER BY o.id
LIMIT $5
