-- Locked in the order in which accept inserts, so that an outcome and a group of
-- new requests never wait for each other in a circle.
SELECT resource_id
FROM idempotency_key
WHERE resource_id = ANY ($1::uuid[])
ORDER BY merchant_id, route COLLATE "C", key COLLATE "C"
FOR UPDATE
