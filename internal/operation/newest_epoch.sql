SELECT id, bumped_at, in_flight, who, reason
FROM epoch
ORDER BY bumped_at DESC
LIMIT 1
