-- What became of each payment. settled_by is the source of the evidence that its
-- end rests on: the first capture, or the no that completed the cover.
SELECT o.id,
       o.state,
       o.waits_for = 'person',
       coalesce(CASE o.state
                    WHEN 'succeeded' THEN (SELECT e.source
                                           FROM evidence e
                                           WHERE e.operation_id = o.id AND e.verdict = 'captured'
                                           ORDER BY e.id
                                           LIMIT 1)
                    WHEN 'failed' THEN (SELECT e.source
                                        FROM evidence e
                                        WHERE e.operation_id = o.id AND e.verdict IN ('declined', 'not_taken')
                                        ORDER BY e.id DESC
                                        LIMIT 1) END, ''),
       (SELECT count(*) FROM attempt a WHERE a.operation_id = o.id),
       (SELECT count(*) FROM attempt a WHERE a.operation_id = o.id AND NOT a.not_sent),
       (SELECT count(*) FROM evidence e WHERE e.operation_id = o.id AND e.source = 'answer' AND e.verdict = 'not_taken'),
       (SELECT count(*) FROM ledger_entry l WHERE l.operation_id = o.id),
       (SELECT coalesce(sum(l.amount_minor), 0)::bigint FROM ledger_entry l WHERE l.operation_id = o.id),
       (SELECT coalesce(sum(l.amount_minor), 0)::bigint FROM ledger_entry l WHERE l.operation_id = o.id AND l.amount_minor > 0),
       EXISTS (SELECT FROM invoice_identity i WHERE i.payment_id = o.payment_id),
       (SELECT count(*)
        FROM payment_history h
        WHERE h.operation_id = o.id
          AND h.event_type IN ('payonce.PaymentCaptured.v1', 'payonce.PaymentFailed.v1'))
FROM operation o
ORDER BY o.id
