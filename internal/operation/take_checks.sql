-- Takes what is to be looked at, by moving its next look into the future: that
-- move is the lease, so several reconcilers share the work and a dead one's
-- share comes back. asked_at is read here, before any question is sent. The clock
-- is read in a subquery where it has to bound the index scan. What is not looked at
-- (what is put off, and waits to be sent) does not fill the list of what is.
--
-- Attempts and evidence are read afterwards, by read_sends.sql: this statement's
-- snapshot may be older than the row that it locks.
WITH clock AS MATERIALIZED (SELECT payonce_now() AS at),
     wanted AS MATERIALIZED (SELECT o.id
                             FROM unnest($1::text[]) AS served (account)
                                      CROSS JOIN LATERAL (SELECT id
                                                          FROM operation
                                                          WHERE provider_account = served.account
                                                            AND next_check_at <= (SELECT payonce_now())
                                                            AND lease_until IS NULL
                                                            AND (state IN ('pending', 'unknown') OR waits_for = 'person')
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
       t.state, t.fence, t.checks, coalesce(t.open_since, t.at), t.waits_for, t.acts_on, p.payment_method, p.customer, t.at
FROM taken t
         JOIN payment p ON p.id = t.payment_id
