-- One page of what happened to a payment, oldest first. The payment's row is asked for
-- the merchant: a page behind the last entry is one row of nulls, and another merchant's
-- payment is none. Headers and payloads stay here; they hold the client's key.
--
-- What a case gives back is ours and not the merchant's: nobody is told of it, and it
-- changes neither the payment's state nor its sum.
--
-- The payment is looked up by its key alone, as in view.sql, and an entry's operation is
-- too: a subquery with LIMIT is asked for each entry, and is not joined.
SELECT h.seq, h.operation_id, o.kind, h.from_state, h.to_state, h.reason, h.created_at, h.event_id, h.event_type
FROM (SELECT id, merchant_id FROM payment WHERE id = $1 LIMIT 1) AS p
         LEFT JOIN LATERAL (SELECT seq, operation_id, from_state, to_state, reason, created_at, event_id, event_type
                            FROM payment_history
                            WHERE payment_id = p.id
                              AND seq > $3
                              AND (SELECT case_id FROM operation WHERE id = payment_history.operation_id LIMIT 1) IS NULL
                            ORDER BY seq
                            LIMIT $4) AS h ON true
         LEFT JOIN LATERAL (SELECT kind FROM operation WHERE id = h.operation_id LIMIT 1) AS o ON true
WHERE p.merchant_id = $2
ORDER BY h.seq
