-- Takes what is to be looked at, by moving its next look into the future: that
-- move is the lease, so several reconcilers share the work and a dead one's
-- share comes back. asked_at is read here, before any question is sent. The clock
-- is read in a subquery where it has to bound the index scan.
WITH clock AS MATERIALIZED (SELECT payonce_now() AS at),
     wanted AS MATERIALIZED (SELECT o.id
                             FROM unnest($1::text[]) AS served (account)
                                      CROSS JOIN LATERAL (SELECT id
                                                          FROM operation
                                                          WHERE provider_account = served.account
                                                            AND next_check_at <= (SELECT payonce_now())
                                                          ORDER BY next_check_at
                                                          LIMIT $2) AS due
                                      JOIN operation o ON o.id = due.id
                             WHERE o.next_check_at <= payonce_now()
                               AND o.lease_until IS NULL
                               AND (o.state IN ('pending', 'unknown') OR o.waits_for = 'person')
                             ORDER BY o.id
                             LIMIT $2 FOR UPDATE OF o SKIP LOCKED),
     taken AS (
         UPDATE operation o
             -- A resend order that no worker took in its time is taken back.
             SET next_check_at = clock.at + $3::interval, checks = o.checks + 1, updated_at = clock.at,
                 resend_fence = NULL, next_attempt_at = NULL
             FROM wanted, clock
             WHERE o.id = wanted.id
             RETURNING o.id, o.payment_id, o.kind, o.provider_account, o.amount_minor, o.currency, o.charge_before,
                 o.state, o.fence, o.checks, o.open_since, o.waits_for, coalesce(o.target_object_id, o.provider_object_id) AS acts_on, clock.at)
SELECT t.id, t.payment_id, t.kind, t.provider_account, t.amount_minor, t.currency, t.charge_before,
       t.state, t.fence, t.checks, coalesce(t.open_since, t.at), t.waits_for, t.acts_on, p.payment_method, p.customer, t.at,
       coalesce(a.first_claimed, t.at), coalesce(a.last_send, t.at), a.sends, e.not_found_at, e.closed_at,
       e.closing,
       -- A resend has the bytes of the first attempt. Without one there is nothing to resend.
       -- Of what was lost only the account may be known: what gives money back went to the account that took it,
       -- and of a charge not even that is known where two losses disagree.
       coalesce((SELECT recipe FROM attempt WHERE operation_id = t.id AND epoch_id IS NULL ORDER BY fence LIMIT 1),
                CASE WHEN t.kind <> 'charge' AND a.lost THEN '@' || account_that_took(t.payment_id) END,
                (SELECT min(recipe) FROM attempt WHERE operation_id = t.id AND epoch_id IS NOT NULL HAVING min(recipe) = max(recipe)), ''),
       a.lost, a.object_in_doubt
FROM taken t
         JOIN payment p ON p.id = t.payment_id
         CROSS JOIN LATERAL (SELECT min(claimed_at) AS first_claimed, max(last_possible_send) AS last_send, count(*) AS sends,
                                    coalesce(bool_or(epoch_id IS NOT NULL), false) AS lost,
                                    coalesce(bool_or(epoch_id IS NOT NULL AND (acted_on = t.acts_on) IS NOT TRUE), false) AS object_in_doubt
                             FROM attempt
                             WHERE operation_id = t.id AND NOT not_sent) AS a
         CROSS JOIN LATERAL (SELECT max(asked_at) FILTER (WHERE source = 'inquiry' AND verdict = 'not_taken') AS not_found_at,
                                    max(asked_at) FILTER (WHERE source = 'closure' AND verdict = 'not_taken') AS closed_at,
                                    coalesce(bool_or(source = 'closure'), false) AS closing
                             FROM evidence
                             WHERE operation_id = t.id) AS e
