-- Payments before operations, each in the order of its id. LockRows works above
-- the sort and reads the newest version of a row that it had to wait for.
SELECT o.id, o.payment_id, p.merchant_id, o.kind, o.provider_account, o.amount_minor, o.currency, o.charge_before,
       o.state, o.reason, o.fence, o.lease_until, o.next_attempt_at, o.resend_fence, o.next_check_at, o.checks,
       o.open_since, o.waits_for, o.provider_object_id, o.case_id, o.refund_reference, o.created_at,
       p.state, p.reason, p.amount_minor, p.invoice_id, p.payment_type, p.external_reference, p.refunded_minor, p.created_at,
       coalesce(o.trace_parent, p.trace_parent), coalesce(o.correlation_id, p.correlation_id),
       coalesce(o.idempotency_key, p.idempotency_key), payonce_now()
FROM operation o
         JOIN payment p ON p.id = o.payment_id
WHERE o.id = ANY ($1::uuid[])
ORDER BY p.id, o.id
    FOR UPDATE OF p, o
