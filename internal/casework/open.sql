-- What the machine plans to do is due at once.
INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
                          suspended, plan, waits_for, next_step_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE $11::text WHEN 'machine' THEN payonce_now() END)
