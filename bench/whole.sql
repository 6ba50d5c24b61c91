-- Payments of which everything is there that accepting writes.
SELECT count(*)
FROM payment p
WHERE EXISTS (SELECT FROM idempotency_key k WHERE k.resource_id = p.id)
  AND EXISTS (SELECT FROM invoice_identity i WHERE i.payment_id = p.id)
  AND EXISTS (SELECT FROM operation o WHERE o.payment_id = p.id)
  AND EXISTS (SELECT FROM payment_history h WHERE h.payment_id = p.id)
  AND EXISTS (SELECT FROM outbox o WHERE o.key = p.id)
