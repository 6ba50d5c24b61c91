-- What is due, oldest first, for each account that this worker serves. Nothing
-- is locked here: who claims looks again under the lock.
SELECT due.id, due.state = 'unknown'
FROM unnest($1::text[]) AS served (account)
         CROSS JOIN LATERAL (SELECT o.id, o.state, o.next_attempt_at
                             FROM operation o
                             WHERE o.provider_account = served.account
                               AND o.next_attempt_at <= payonce_now()
                               AND (o.charge_before IS NULL OR o.charge_before > payonce_now())
                             ORDER BY o.next_attempt_at
                             LIMIT $2) AS due
ORDER BY due.next_attempt_at
LIMIT $2
