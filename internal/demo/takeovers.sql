SELECT count(*)
FROM payment_history
WHERE reason = 'lease-ran-out'
