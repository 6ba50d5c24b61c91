SELECT count(*)
FROM payment
WHERE state IN ('captured', 'failed', 'canceled')
