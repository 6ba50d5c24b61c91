-- What is due, oldest first, for each account and kind, and of each no more than it
-- has room for. Nothing is locked here: who claims looks again under the lock.
--
-- The clock is read in a subquery: as a bare volatile call it could not bound the
-- index scan, and each look would read everything that is not due yet.
--
-- A resend order stays on the list past its last moment, because only whoever
-- takes it can withdraw it; left out, nobody would ever look at it again.
SELECT due.id, due.state = 'unknown'
FROM unnest($1::text[], $2::text[], $3::integer[]) AS line (account, kind, most)
         CROSS JOIN LATERAL (SELECT o.id, o.state, o.next_attempt_at
                             FROM operation o
                             WHERE o.provider_account = line.account
                               AND o.kind = line.kind
                               AND o.next_attempt_at <= (SELECT payonce_now())
                               AND (o.state = 'unknown' OR o.charge_before IS NULL OR o.charge_before > payonce_now())
                             ORDER BY o.next_attempt_at
                             LIMIT line.most) AS due
ORDER BY due.next_attempt_at
LIMIT $4
