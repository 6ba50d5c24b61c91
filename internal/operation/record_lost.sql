-- The attempt that stands for what was lost of each operation. The first send that it
-- allows for is the operation's birth: the attempts that are remembered may be later
-- than one that is not, and a key's horizon counts from the first. An operation at
-- which the epoch is recorded already is left alone.
--
-- It was sent to the account at the provider that the youngest operation was sent to
-- of which an attempt is remembered: what follows the @ of that one's recipe. The walk
-- is along the key, whose ids are in the order of birth, and mostly ends at once.
-- Where it finds none, no account is named, and a person decides. What gives money back
-- went to the account that took it, whatever was configured since: nothing is guessed
-- while the charge remembers.
--
-- The object that is stored is what the lost ones acted on, too: an id is never replaced.
WITH sent AS MATERIALIZED (
    SELECT s.provider_account, remembered.at
    FROM (SELECT DISTINCT provider_account FROM operation WHERE id = ANY ($2::uuid[])) AS s
             CROSS JOIN LATERAL (SELECT substring(a.recipe FROM '@(.*)') AS at
                                 FROM (SELECT id, provider_account, fence FROM operation ORDER BY id DESC LIMIT $4) AS o
                                          CROSS JOIN LATERAL (SELECT recipe
                                                              FROM attempt
                                                              WHERE operation_id = o.id AND epoch_id IS NULL
                                                              ORDER BY fence DESC
                                                              LIMIT 1) AS a
                                 WHERE o.provider_account = s.provider_account
                                   AND o.fence > 0
                                 ORDER BY o.id DESC
                                 LIMIT 1) AS remembered)
INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, epoch_id, acted_on)
SELECT lost.operation_id, lost.fence, 'epoch',
       coalesce(CASE WHEN o.kind <> 'charge' THEN '@' || account_that_took(o.payment_id) END,
                (SELECT '@' || at FROM sent WHERE sent.provider_account = o.provider_account AND at <> ''), ''),
       o.created_at, e.bumped_at, e.bumped_at + e.in_flight, e.id, o.provider_object_id
FROM unnest($2::uuid[], $3::bigint[]) AS lost (operation_id, fence)
         CROSS JOIN LATERAL (SELECT created_at, kind, payment_id, provider_account, provider_object_id FROM operation WHERE id = lost.operation_id LIMIT 1) AS o
         CROSS JOIN LATERAL (SELECT id, bumped_at, in_flight FROM epoch WHERE id = $1 LIMIT 1) AS e
ON CONFLICT (operation_id, epoch_id) WHERE epoch_id IS NOT NULL DO NOTHING
RETURNING operation_id
