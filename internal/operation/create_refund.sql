-- Currency, account and what it acts on come from the charge, not from the caller. The
-- due list takes it when its message did not. Where the charge names no movement, or has
-- not succeeded, a trigger refuses the row.
WITH born AS (
    INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, target_object_id, next_attempt_at,
                           refund_reference, metadata, trace_parent, correlation_id, idempotency_key)
        SELECT $1::uuid, charge.payment_id, 'refund', charge.provider_account, $3::bigint, charge.currency, charge.provider_object_id,
               payonce_now() + $4::interval, $5, $6::jsonb, $7, $8, $9
        FROM operation charge
        WHERE charge.payment_id = $2::uuid AND charge.kind = 'charge'
        RETURNING payment_id, amount_minor, created_at)
UPDATE payment p
SET refunded_minor = p.refunded_minor + born.amount_minor,
    updated_at     = born.created_at
FROM born
WHERE p.id = born.payment_id
RETURNING born.created_at
