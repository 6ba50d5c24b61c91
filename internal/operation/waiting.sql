-- Open operations, by id, which is by age. What is open has a next look or a lease,
-- and what waits for a person a next look; each has a partial index, so that nothing
-- is read of what is final. The rows are looked up by id once their number is bounded.
WITH open AS MATERIALIZED (SELECT id FROM operation WHERE next_check_at IS NOT NULL AND id > $4
                           UNION
                           SELECT id FROM operation WHERE lease_until IS NOT NULL AND id > $4)
SELECT o.id, o.payment_id, p.merchant_id, p.invoice_id, o.kind, o.provider_account, o.amount_minor, o.currency, o.state,
       coalesce(o.reason, ''), coalesce(o.open_since, o.created_at), payonce_now(),
       coalesce(o.next_check_at, o.next_attempt_at, o.lease_until), o.waits_for
FROM open
         JOIN operation o ON o.id = open.id
         JOIN payment p ON p.id = o.payment_id
WHERE (o.state IN ('pending', 'unknown') OR o.waits_for = 'person')
  AND ($1::text = '' OR o.provider_account = $1)
  AND ($2::text = '' OR o.waits_for = $2)
  AND coalesce(o.open_since, o.created_at) <= payonce_now() - $3::interval
ORDER BY o.id
LIMIT $5
