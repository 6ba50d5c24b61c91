UPDATE payment_case
SET state              = $3,
    plan               = $4,
    resolution         = $5,
    waits_for          = $6,
    provider_object_id = $7,
    next_step_at       = CASE WHEN $8::boolean THEN payonce_now() END,
    version            = version + 1,
    updated_at         = payonce_now()
WHERE id = $1
  AND version = $2
