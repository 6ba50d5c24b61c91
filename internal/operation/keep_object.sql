-- The id of what was prepared at the provider. Only the attempt that holds the lease
-- may store it, and one that is stored is never replaced: a money-moving request may
-- have been made for it.
UPDATE operation o
SET provider_object_id = $3,
    updated_at         = payonce_now()
WHERE id = $1
  AND fence = $2
  AND lease_until IS NOT NULL
  -- Its own attempt: after commits were lost another claim can have the same fence.
  AND EXISTS (SELECT FROM attempt a WHERE a.operation_id = o.id AND a.fence = o.fence AND a.claim_id = $4)
  AND (provider_object_id IS NULL OR provider_object_id = $3)
