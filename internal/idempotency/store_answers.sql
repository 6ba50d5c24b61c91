-- The first answer stays: a key that has one is left alone, and the table's
-- trigger refuses what would change it.
UPDATE idempotency_key k
SET status      = answer.status,
    body        = answer.body,
    answered_at = payonce_now()
FROM unnest($1::uuid[], $2::smallint[], $3::bytea[]) AS answer (resource_id, status, body)
WHERE k.resource_id = answer.resource_id
  AND k.status IS NULL
