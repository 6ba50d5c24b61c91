-- The attempt that stands for what was lost of each operation. The first send that it
-- allows for is the operation's birth: the attempts that are remembered may be later
-- than one that is not, and a key's horizon counts from the first. An operation at
-- which the epoch is recorded already is left alone.
INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, epoch_id)
SELECT lost.operation_id, lost.fence, 'epoch', '', o.created_at, e.bumped_at, e.bumped_at + e.in_flight, e.id
FROM unnest($2::uuid[], $3::bigint[]) AS lost (operation_id, fence)
         CROSS JOIN LATERAL (SELECT created_at FROM operation WHERE id = lost.operation_id LIMIT 1) AS o
         CROSS JOIN LATERAL (SELECT id, bumped_at, in_flight FROM epoch WHERE id = $1 LIMIT 1) AS e
ON CONFLICT (operation_id, epoch_id) WHERE epoch_id IS NOT NULL DO NOTHING
RETURNING operation_id
