-- A page of a merchant's payments, newest first. For each state that is asked for, one
-- index range is read from its end and no further than the page is long; which of the
-- three indexes follows from the filter that is given, and the ranges of the other two
-- are not read at all. So a page costs the same however many payments there are, and
-- however few of them match.
--
-- The time is the payment's own, which never changes: what is accepted meanwhile stands
-- before the first page and moves nothing on those behind it.
--
-- The payments are looked up again by their key, so that this statement shows them as
-- view.sql does: LIMIT inside keeps the server on the keys.
WITH page AS MATERIALIZED (SELECT found.id, found.created_at
                           FROM unnest($2::text[]) AS wanted (state)
                                    CROSS JOIN LATERAL (
                               (SELECT id, created_at
                                FROM payment
                                WHERE $3::text = '' AND $4::text = ''
                                  AND merchant_id = $1
                                  AND state = wanted.state
                                  AND (created_at, id) < ($6::timestamptz, $7::uuid)
                                  AND created_at >= $5::timestamptz
                                ORDER BY created_at DESC, id DESC
                                LIMIT $8)
                               UNION ALL
                               (SELECT id, created_at
                                FROM payment
                                WHERE $3 <> ''
                                  AND merchant_id = $1
                                  AND invoice_id = $3
                                  AND state = wanted.state
                                  AND (created_at, id) < ($6, $7)
                                  AND created_at >= $5
                                ORDER BY created_at DESC, id DESC
                                LIMIT $8)
                               UNION ALL
                               (SELECT id, created_at
                                FROM payment
                                WHERE $4 <> ''
                                  AND merchant_id = $1
                                  AND external_reference = $4
                                  AND state = wanted.state
                                  AND (created_at, id) < ($6, $7)
                                  AND created_at >= $5
                                ORDER BY created_at DESC, id DESC
                                LIMIT $8)) AS found
                           ORDER BY found.created_at DESC, found.id DESC
                           LIMIT $8)
SELECT p.id, o.id, p.state, p.amount_minor, p.currency, p.invoice_id, p.payment_type, p.external_reference, o.reason,
       p.refunded_minor, coalesce(o.next_check_at, o.next_attempt_at, o.lease_until), p.created_at, p.updated_at
FROM page
         CROSS JOIN LATERAL (SELECT id, state, amount_minor, currency, invoice_id, payment_type, external_reference,
                                    refunded_minor, created_at, updated_at
                             FROM payment
                             WHERE id = page.id
                             LIMIT 1) AS p
         CROSS JOIN LATERAL (SELECT id, reason, next_check_at, next_attempt_at, lease_until
                             FROM operation
                             WHERE payment_id = p.id
                               AND kind = 'charge'
                             LIMIT 1) AS o
ORDER BY page.created_at DESC, page.id DESC
