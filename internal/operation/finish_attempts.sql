-- What an attempt learned about itself is written once; a repeat changes nothing. That
-- the claim is the attempt's own is looked at before; where it is not, a CHECK refuses
-- its "not sent".
UPDATE attempt a
SET not_sent    = f.not_sent,
    not_sent_by = CASE WHEN f.not_sent THEN f.claim_id END,
    finished_at = payonce_now()
FROM unnest($1::uuid[], $2::bigint[], $3::boolean[], $4::uuid[]) AS f (operation_id, fence, not_sent, claim_id)
WHERE a.operation_id = f.operation_id
  AND a.fence = f.fence
  AND a.finished_at IS NULL
