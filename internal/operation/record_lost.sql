-- The attempt that stands for what was lost of each operation. The first send that it
-- allows for is the operation's birth: the attempts that are remembered may be later
-- than one that is not, and a key's horizon counts from the first. An operation at
-- which the epoch is recorded already is left alone.
INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, epoch_id)
SELECT o.id, lost.fence, 'epoch', '', o.created_at, e.bumped_at, e.bumped_at + e.in_flight, e.id
FROM unnest($2::uuid[], $3::bigint[]) AS lost (operation_id, fence)
         JOIN operation o ON o.id = lost.operation_id
         JOIN epoch e ON e.id = $1
ON CONFLICT (operation_id, epoch_id) WHERE epoch_id IS NOT NULL DO NOTHING
RETURNING operation_id
