-- What stands against one more refund of a payment, besides the sum on its row: how many
-- it has had, and what the provider says went out by them and no sum counts yet. A refund
-- that is open counts already, so of a case about it only what exceeds it.
SELECT (SELECT count(*) FROM operation o WHERE o.payment_id = $1 AND o.refund_reference IS NOT NULL),
       coalesce((SELECT sum(CASE WHEN k.kind = 'amount_mismatch' AND o.state NOT IN ('failed', 'canceled')
                                     THEN greatest(k.amount_minor - o.amount_minor, 0)
                                 ELSE k.amount_minor END)
                 FROM payment_case k
                          JOIN operation o ON o.id = k.operation_id
                 WHERE k.payment_id = $1
                   AND o.refund_reference IS NOT NULL
                   AND k.suspended
                   AND k.state IN ('open', 'working')
                   AND k.currency = o.currency), 0)::bigint
