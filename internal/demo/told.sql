-- What was committed to be told, in the order of commits within a payment.
SELECT payment_id, event_id, event_topic = $1
FROM payment_history
WHERE event_id IS NOT NULL
ORDER BY payment_id, seq
