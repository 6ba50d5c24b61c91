-- Amount, currency and the last moment come from the payment, not from the
-- caller: there is one place where they are told.
INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, charge_before, next_attempt_at)
SELECT accepted.id, p.id, 'charge', accepted.provider_account, p.amount_minor, p.currency, p.charge_before, p.created_at + $4::interval
FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS accepted (id, payment_id, provider_account)
         JOIN payment p ON p.id = accepted.payment_id
ORDER BY p.id
