-- Inserted in the order of the key, so that two groups never wait for each other
-- in a circle. A key that an unfinished transaction has reserved is waited for,
-- up to lock_timeout. A key that is given twice goes to the earlier entry.
INSERT INTO idempotency_key (merchant_id, route, key, fingerprint, fields, resource_id)
SELECT merchant_id, route, key, fingerprint, fields, resource_id
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::jsonb[], $6::uuid[])
         WITH ORDINALITY AS entry (merchant_id, route, key, fingerprint, fields, resource_id, place)
ORDER BY merchant_id, route COLLATE "C", key COLLATE "C", place
ON CONFLICT DO NOTHING
