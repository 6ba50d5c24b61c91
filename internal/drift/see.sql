-- A movement that is listed again, on a later page or because the page is read again,
-- stands as it was told last.
INSERT INTO drift_seen (scan_id, object_id, reference, operation_id, kind, verdict, amount_minor, currency, created_at, asked_at)
SELECT $1, object_id, reference, operation_id, kind, verdict, amount_minor, currency, created_at, $2
FROM unnest($3::text[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::timestamptz[])
         AS m (object_id, reference, operation_id, kind, verdict, amount_minor, currency, created_at)
ON CONFLICT (scan_id, object_id) DO UPDATE
    SET reference    = excluded.reference,
        operation_id = excluded.operation_id,
        kind         = excluded.kind,
        verdict      = excluded.verdict,
        amount_minor = excluded.amount_minor,
        currency     = excluded.currency,
        created_at   = excluded.created_at,
        asked_at     = excluded.asked_at
