SELECT id, operation_id, coalesce(fence, 0), source, verdict, amount_minor, currency, coalesce(provider_object_id, ''),
       coalesce(reason, ''), asked_at, covers_until, covers_earlier
FROM evidence
WHERE operation_id = ANY ($1::uuid[])
ORDER BY operation_id, recorded_at, id
