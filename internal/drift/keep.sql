-- In one order, so that two scans of an account do not wait for each other. A known
-- finding is news only when the provider says something else than it did.
INSERT INTO drift_finding (id, provider_account, kind, object_id, reference, operation_id, movement, verdict, amount_minor, currency, created_at)
SELECT id, $1, kind, object_id, reference, operation_id, movement, verdict, amount_minor, currency, created_at
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::bigint[], $10::text[], $11::timestamptz[])
         AS f (id, kind, object_id, reference, operation_id, movement, verdict, amount_minor, currency, created_at)
ORDER BY kind, object_id, operation_id
ON CONFLICT ON CONSTRAINT a_difference_is_found_once DO UPDATE
    SET verdict      = excluded.verdict,
        amount_minor = excluded.amount_minor,
        currency     = excluded.currency,
        seen_at      = payonce_now(),
        state        = 'open',
        explained_by = NULL,
        reason       = NULL,
        explained_at = NULL
    WHERE (excluded.verdict <> 'unclear' -- which an inquiry leaves that settles nothing
        AND (drift_finding.verdict, drift_finding.amount_minor, drift_finding.currency)
            IS DISTINCT FROM (excluded.verdict, excluded.amount_minor, excluded.currency))
       -- What the machine had explained is open again when it is found again.
       OR drift_finding.explained_by = 'machine'
