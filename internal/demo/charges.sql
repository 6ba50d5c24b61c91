-- Every payment with its charge. The demo's database holds nobody else's.
SELECT p.id, o.id, p.merchant_id, p.state, p.amount_minor, p.currency
FROM payment p
         JOIN operation o ON o.payment_id = p.id AND o.kind = 'charge'
