-- One page of what happened to a payment, oldest first. The payment's row is asked for
-- the merchant: a page behind the last entry is one row of nulls, and another merchant's
-- payment is none. Headers and payloads stay here; they hold the client's key.
SELECT h.seq, h.operation_id, o.kind, h.from_state, h.to_state, h.reason, h.created_at, h.event_id, h.event_type
FROM (SELECT id FROM payment WHERE id = $1 AND merchant_id = $2 LIMIT 1) AS p
         LEFT JOIN LATERAL (SELECT seq, operation_id, from_state, to_state, reason, created_at, event_id, event_type
                            FROM payment_history
                            WHERE payment_id = p.id
                              AND seq > $3
                            ORDER BY seq
                            LIMIT $4) AS h ON true
         LEFT JOIN LATERAL (SELECT kind FROM operation WHERE id = h.operation_id LIMIT 1) AS o ON true
ORDER BY h.seq
