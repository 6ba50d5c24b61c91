SELECT id, state = 'succeeded'
FROM operation
WHERE kind = 'charge'
