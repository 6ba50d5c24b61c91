-- created -> processing, with the attempt row that records a possible send, in
-- one statement. An operation is taken when it is created, belongs to an
-- account that this worker serves, may still be sent, and nothing says that the
-- provider may already hold it. The move's trigger checks that again; left to the
-- trigger alone, one such operation would keep all others from being claimed.
WITH clock AS MATERIALIZED (SELECT payonce_now() AS at),
     locked AS MATERIALIZED (SELECT o.id, served.recipe
                             FROM operation o
                                      JOIN payment p ON p.id = o.payment_id
                                      JOIN unnest($2::text[], $3::text[]) AS served (account, recipe)
                                           ON served.account = o.provider_account
                             WHERE o.id = ANY ($1::uuid[])
                               AND o.state = 'created'
                               AND (o.charge_before IS NULL OR o.charge_before > payonce_now())
                               AND NOT provider_may_hold(o.id)
                               -- What was there when commits were lost may have been sent by then.
                               AND o.created_at > coalesce((SELECT max(bumped_at) FROM epoch), '-infinity')
                               -- What was begun at one account of the provider is not sent to
                               -- another. The account follows the first @ of a recipe and may have
                               -- one itself; a recipe without one does not know (null).
                               AND NOT (o.fence > 0 AND EXISTS (SELECT
                                                                FROM attempt a
                                                                WHERE a.operation_id = o.id
                                                                  AND substring(a.recipe FROM '@(.*)') <> substring(served.recipe FROM '@(.*)')))
                               -- What gives money back is sent to the account that took it.
                               AND (o.kind = 'charge' OR (account_that_took(o.payment_id) <> substring(served.recipe FROM '@(.*)')) IS NOT TRUE)
                               -- A case's money does not go back while another one of the case may have
                               -- given it back.
                               AND NOT (o.case_id IS NOT NULL
                                   AND EXISTS (SELECT
                                               FROM operation other
                                               WHERE other.case_id = o.case_id AND other.id <> o.id AND provider_may_hold(other.id)))
                             ORDER BY p.id, o.id
                                 FOR UPDATE OF p, o),
     claimed AS (
         UPDATE operation o
             SET state = 'processing', reason = NULL, fence = o.fence + 1, lease_until = clock.at + $5::interval,
                 next_attempt_at = NULL, updated_at = clock.at
             FROM locked, clock
             WHERE o.id = locked.id AND o.state = 'created'
             RETURNING o.id, o.payment_id, o.kind, o.provider_account, o.amount_minor, o.currency, o.charge_before,
                 o.fence, o.lease_until, coalesce(o.target_object_id, o.provider_object_id) AS acts_on, locked.recipe, clock.at),
     attempted AS (
         INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, claim_id)
             SELECT id, fence, $4, recipe, at, lease_until, lease_until + $6::interval, $7
             FROM claimed),
     shown AS (
         UPDATE payment p
             SET state = 'processing', reason = NULL, updated_at = c.at
             FROM claimed c
             WHERE p.id = c.payment_id AND c.kind = 'charge')
SELECT c.id, c.payment_id, c.kind, c.provider_account, c.amount_minor, c.currency, c.charge_before, c.fence,
       c.acts_on, p.payment_method, p.customer, c.at AS claimed_at, c.at AS first_claimed_at
FROM claimed c
         JOIN payment p ON p.id = c.payment_id
ORDER BY c.payment_id, c.id
