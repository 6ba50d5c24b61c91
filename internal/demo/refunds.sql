-- Every refund with what is booked to its merchant. Those of cases have no reference.
SELECT o.id, o.payment_id, coalesce(o.refund_reference, ''), o.state, o.amount_minor, o.currency,
       coalesce((SELECT sum(e.amount_minor)
                 FROM ledger_entry e
                 WHERE e.operation_id = o.id
                   AND e.account = 'merchant:' || p.merchant_id || ':payable'), 0)::bigint
FROM operation o
         JOIN payment p ON p.id = o.payment_id
WHERE o.kind = 'refund'
