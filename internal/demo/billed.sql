SELECT payment_id, amount_minor, currency
FROM billed
