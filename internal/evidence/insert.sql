INSERT INTO evidence (id, operation_id, fence, source, verdict, amount_minor, currency, provider_object_id,
                      status, reason, asked_at, covers_until, covers_earlier, hash)
SELECT id, operation_id, fence, source, verdict, amount_minor, currency, provider_object_id,
       status, reason, asked_at, covers_until, covers_earlier, hash
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[],
            $9::integer[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::boolean[], $14::bytea[])
         AS e (id, operation_id, fence, source, verdict, amount_minor, currency, provider_object_id,
               status, reason, asked_at, covers_until, covers_earlier, hash)
