-- The database holds every refund to it at its birth, too.
SELECT may_be_refunded(o)
FROM operation o
WHERE o.id = $1
