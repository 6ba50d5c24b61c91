-- $1 consumer. No floor yet: null.
SELECT current_setting('transaction_isolation'), (SELECT floor FROM inbox_floor WHERE consumer = $1)
