-- Every payment with its charge, and with the refunds that gave back what the provider
-- took besides. The demo's database holds nobody else's.
SELECT p.id, o.id, p.merchant_id, p.state, p.amount_minor, p.currency, p.refunded_minor,
       ARRAY(SELECT c.id FROM operation c WHERE c.payment_id = p.id AND c.case_id IS NOT NULL)
FROM payment p
         JOIN operation o ON o.payment_id = p.id AND o.kind = 'charge'
