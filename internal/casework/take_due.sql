-- As with an operation's looks: moving the next step into the future is the lease.
-- The clock is read in a subquery where it has to bound the index scan.
WITH wanted AS MATERIALIZED (SELECT c.id
                             FROM unnest($1::text[]) AS served (account)
                                      CROSS JOIN LATERAL (SELECT id
                                                          FROM payment_case
                                                          WHERE provider_account = served.account
                                                            AND next_step_at <= (SELECT payonce_now())
                                                          ORDER BY next_step_at
                                                          LIMIT $2) AS due
                                      JOIN payment_case c ON c.id = due.id
                             WHERE c.next_step_at <= payonce_now()
                             ORDER BY c.id
                             LIMIT $2 FOR UPDATE OF c SKIP LOCKED)
UPDATE payment_case c
SET next_step_at = payonce_now() + $3::interval
FROM wanted
WHERE c.id = wanted.id
RETURNING c.id, c.payment_id, c.operation_id, c.plan, c.version,
    (SELECT o.kind FROM operation o WHERE o.id = c.operation_id)
