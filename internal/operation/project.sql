-- The payment shows its charge. Refunds and voids move nothing here.
UPDATE payment p
SET state      = m.state,
    reason     = m.reason,
    updated_at = m.at
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[]) AS m (id, state, reason, at)
WHERE p.id = m.id
