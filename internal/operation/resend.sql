-- A new attempt within unknown. Only where a resend order stands for exactly
-- this fence, which the statement consumes; and everything that could have
-- changed since the order is looked at again: the key's horizon, counted from
-- the first possible send, the last moment, the door, and evidence.
WITH clock AS MATERIALIZED (SELECT payonce_now() AS at),
     claimed AS (
         UPDATE operation o
             SET fence = o.fence + 1, lease_until = clock.at + $6::interval, resend_fence = NULL,
                 next_attempt_at = NULL, next_check_at = NULL, updated_at = clock.at
             FROM clock, unnest($2::text[], $3::text[], $4::interval[]) AS served (account, recipe, horizon)
             WHERE o.id = ANY ($1::uuid[])
                 AND served.account = o.provider_account
                 AND o.state = 'unknown'
                 AND o.resend_fence = o.fence
                 AND (o.charge_before IS NULL OR o.charge_before > clock.at)
                 AND clock.at < (SELECT min(a.claimed_at) FROM attempt a WHERE a.operation_id = o.id AND NOT a.not_sent) + served.horizon
                 -- By which recipe a lost attempt was made is not known. With another one than ours the
                 -- provider sees the same key, and takes nothing again; but only at the account that it
                 -- was sent to. Without a word about that nothing is sent. (What is prepared has another key in each
                 -- recipe: what the provider says of a second object is no word about the first.)
                 AND CASE WHEN EXISTS (SELECT FROM attempt a WHERE a.operation_id = o.id AND a.epoch_id IS NULL)
                              THEN served.recipe = (SELECT a.recipe FROM attempt a
                                                    WHERE a.operation_id = o.id AND a.epoch_id IS NULL
                                                    ORDER BY a.fence LIMIT 1)
                          ELSE NOT EXISTS (SELECT FROM attempt a
                                           WHERE a.operation_id = o.id
                                             AND a.recipe IS DISTINCT FROM '@' || nullif(substring(served.recipe FROM '@(.*)'), '')) END
                 -- What gives money back is sent to the account that took it.
                 AND (o.kind = 'charge' OR (account_that_took(o.payment_id) <> substring(served.recipe FROM '@(.*)')) IS NOT TRUE)
                 AND NOT awaits_epoch(o.id, o.created_at)
                 AND NOT provider_may_hold(o.id)
                 AND NOT (o.case_id IS NOT NULL
                     AND EXISTS (SELECT
                                 FROM operation other
                                 WHERE other.case_id = o.case_id AND other.id <> o.id AND provider_may_hold(other.id)))
                 -- Nothing is sent towards a door that is being closed.
                 AND NOT EXISTS (SELECT FROM evidence e WHERE e.operation_id = o.id AND e.source = 'closure')
             RETURNING o.id, o.payment_id, o.kind, o.provider_account, o.amount_minor, o.currency, o.charge_before,
                 o.fence, o.lease_until, coalesce(o.target_object_id, o.provider_object_id) AS acts_on, served.recipe, clock.at),
     attempted AS (
         INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, claim_id)
             SELECT id, fence, $5, recipe, at, lease_until, lease_until + $7::interval, $8
             FROM claimed)
SELECT c.id, c.payment_id, c.kind, c.provider_account, c.amount_minor, c.currency, c.charge_before, c.fence,
       c.acts_on, p.payment_method, p.customer, c.at AS claimed_at,
       (SELECT min(a.claimed_at) FROM attempt a WHERE a.operation_id = c.id AND NOT a.not_sent) AS first_claimed_at
FROM claimed c
         JOIN payment p ON p.id = c.payment_id
ORDER BY c.payment_id, c.id
