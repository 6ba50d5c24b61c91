SELECT operation_id, fence, claimed_at, lease_until, last_possible_send, not_sent, finished_at IS NOT NULL, epoch_id IS NOT NULL,
       coalesce(claim_id, '00000000-0000-0000-0000-000000000000')
FROM attempt
WHERE operation_id = ANY ($1::uuid[])
ORDER BY operation_id, fence
