SELECT id, payment_id, operation_id, kind, provider_account, amount_minor, currency, suspended, state, plan,
       coalesce(resolution, ''), waits_for, provider_object_id, version, next_step_at, created_at, updated_at,
       (SELECT h.actor FROM payment_case_history h WHERE h.case_id = id AND h.version = payment_case.version),
       (SELECT o.kind FROM operation o WHERE o.id = payment_case.operation_id)
FROM payment_case
WHERE operation_id = ANY ($1::uuid[])
UNION
SELECT id, payment_id, operation_id, kind, provider_account, amount_minor, currency, suspended, state, plan,
       coalesce(resolution, ''), waits_for, provider_object_id, version, next_step_at, created_at, updated_at,
       (SELECT h.actor FROM payment_case_history h WHERE h.case_id = id AND h.version = payment_case.version),
       (SELECT o.kind FROM operation o WHERE o.id = payment_case.operation_id)
FROM payment_case
WHERE id = ANY ($2::uuid[])
ORDER BY id
