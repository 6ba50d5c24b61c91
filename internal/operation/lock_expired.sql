-- Leases that ran out, oldest first, of the accounts that the caller serves.
-- Whoever holds a row is at work on it, so it is skipped and not waited for. The
-- clock is read in a subquery so that it bounds the index scan.
SELECT o.id, o.payment_id, p.merchant_id, o.kind, o.provider_account, o.amount_minor, o.currency, o.charge_before,
       o.state, o.reason, o.fence, o.lease_until, o.next_attempt_at, o.resend_fence, o.next_check_at, o.checks,
       o.open_since, o.waits_for, o.provider_object_id, o.case_id, o.refund_reference, o.created_at,
       p.state, p.reason, p.amount_minor, p.invoice_id, p.payment_type, p.external_reference, p.refunded_minor, p.created_at,
       coalesce(o.trace_parent, p.trace_parent), coalesce(o.correlation_id, p.correlation_id),
       coalesce(o.idempotency_key, p.idempotency_key), payonce_now()
FROM unnest($1::text[]) AS served (account)
         CROSS JOIN LATERAL (SELECT id
                             FROM operation
                             WHERE provider_account = served.account
                               AND lease_until < (SELECT payonce_now())
                             ORDER BY lease_until
                             LIMIT $2) AS ran_out
         JOIN operation o ON o.id = ran_out.id
         JOIN payment p ON p.id = o.payment_id
WHERE o.lease_until < payonce_now()
ORDER BY p.id, o.id
LIMIT $2 FOR UPDATE OF p, o SKIP LOCKED
