-- Operations that wait to be sent although their last moment has passed. Not
-- locked here: whoever fails them locks their keys and identities first. The
-- clock is read in a subquery so that it bounds the index scan.
SELECT overdue.id, overdue.payment_id
FROM unnest($1::text[]) AS served (account)
         CROSS JOIN LATERAL (SELECT id, payment_id, charge_before
                             FROM operation
                             WHERE provider_account = served.account
                               AND state = 'created'
                               AND waits_for = 'machine'
                               AND (next_check_at IS NULL OR next_check_at <= (SELECT payonce_now())) -- put off
                               AND charge_before <= (SELECT payonce_now())
                               -- What was there when commits were lost is asked about first.
                               AND created_at > coalesce((SELECT max(bumped_at) FROM epoch), '-infinity')
                             ORDER BY charge_before
                             LIMIT $2) AS overdue
ORDER BY overdue.charge_before
LIMIT $2
