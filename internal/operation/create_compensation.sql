-- Due at once, from the due list: no message announces it. All that it moves comes
-- from the case, not from the caller.
INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, case_id, target_object_id, next_attempt_at)
SELECT $1::uuid, k.payment_id, $3::text, k.provider_account, k.amount_minor, k.currency, k.id, k.provider_object_id, payonce_now()
FROM payment_case k
WHERE k.id = $2
