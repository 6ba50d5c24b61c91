-- All payments; those beyond the first of their invoice or of their key, and operations
-- beyond the first of their payment; and those that were captured.
SELECT count(*),
       count(*) - count(DISTINCT (merchant_id, invoice_id))
           + (SELECT count(*) - count(DISTINCT payment_id) FROM operation)
           + (SELECT count(*) - count(DISTINCT resource_id) FROM idempotency_key),
       count(*) FILTER (WHERE state = 'captured')
FROM payment
