-- Ids are time-ordered, so that the oldest comes first.
SELECT id, payment_id, operation_id, kind, provider_account, amount_minor, currency, suspended, state, plan,
       coalesce(resolution, ''), waits_for, provider_object_id, version, next_step_at, created_at, updated_at,
       (SELECT h.actor FROM payment_case_history h WHERE h.case_id = id AND h.version = payment_case.version),
       (SELECT o.kind FROM operation o WHERE o.id = payment_case.operation_id)
FROM payment_case
WHERE ($1::boolean OR state IN ('open', 'working'))
  AND ($2::text = '' OR provider_account = $2)
  AND ($3::uuid IS NULL OR payment_id = $3)
  AND ($4::text = '' OR waits_for = $4)
  AND id > $5
ORDER BY id
LIMIT $6
