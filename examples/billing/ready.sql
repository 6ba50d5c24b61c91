-- An error when the table is not there.
SELECT
FROM billed
LIMIT 1
