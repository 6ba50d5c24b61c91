-- The lease is renewed by each step. A scanner that died leaves the scan where its
-- last step left it; one that only stood still finds another version. What was taken
-- least often comes first, so that a scan whose list cannot be read holds up no other.
UPDATE drift_scan
SET version     = version + 1,
    lease_until = payonce_now() + $4::interval
WHERE id = (SELECT id
            FROM drift_scan
            WHERE provider_account = $1
              AND identity = $2
              AND finished_at IS NULL
              AND ($3::uuid = '00000000-0000-0000-0000-000000000000' OR id = $3::uuid)
              AND (lease_until IS NULL OR lease_until <= payonce_now())
            ORDER BY version, from_at
            LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, provider_account, identity, from_at, to_at, phase, list_cursor, after_operation, pages, listed,
    told, asked, found, version, payonce_now(), finished_at
