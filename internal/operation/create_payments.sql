INSERT INTO payment (id, merchant_id, invoice_id, payment_type, external_reference, amount_minor, currency,
                     payment_method, customer, metadata, charge_before, trace_parent, correlation_id, idempotency_key)
SELECT id, merchant_id, invoice_id, payment_type, external_reference, amount_minor, currency,
       nullif(payment_method, ''), nullif(customer, ''), metadata, charge_before, trace_parent, correlation_id, idempotency_key
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
            $8::text[], $9::text[], $10::jsonb[], $11::timestamptz[], $12::text[], $13::text[], $14::text[])
         AS accepted (id, merchant_id, invoice_id, payment_type, external_reference, amount_minor, currency,
                      payment_method, customer, metadata, charge_before, trace_parent, correlation_id, idempotency_key)
ORDER BY id
RETURNING id, created_at
