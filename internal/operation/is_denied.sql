-- The rule is the database's, which adopts and refunds by it.
SELECT movement_is_denied($1, $2)
