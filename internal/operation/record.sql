INSERT INTO payment_history (payment_id, operation_id, from_state, to_state, fence, reason,
                             event_id, event_type, event_topic, headers, payload)
SELECT payment_id, operation_id, nullif(from_state, ''), to_state, fence, nullif(reason, ''),
       event_id, event_type, event_topic, headers, payload
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::text[],
            $7::uuid[], $8::text[], $9::text[], $10::jsonb[], $11::bytea[])
         WITH ORDINALITY AS h (payment_id, operation_id, from_state, to_state, fence, reason,
                               event_id, event_type, event_topic, headers, payload, line)
ORDER BY line
