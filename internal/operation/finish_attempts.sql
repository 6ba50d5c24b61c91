-- What an attempt learned about itself is written once; a repeat changes nothing.
UPDATE attempt a
SET not_sent    = f.not_sent,
    finished_at = payonce_now()
FROM unnest($1::uuid[], $2::bigint[], $3::boolean[]) AS f (operation_id, fence, not_sent)
WHERE a.operation_id = f.operation_id
  AND a.fence = f.fence
  AND a.finished_at IS NULL
