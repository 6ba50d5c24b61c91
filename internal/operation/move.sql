-- Conditional on what was read under the lock, so that a row which is not there
-- any more is missed here and reported by the caller, not overwritten.
UPDATE operation o
SET state              = m.state,
    reason             = m.reason,
    fence              = m.fence,
    lease_until        = m.lease_until,
    next_attempt_at    = m.next_attempt_at,
    resend_fence       = m.resend_fence,
    next_check_at      = m.next_check_at,
    checks             = m.checks,
    open_since         = m.open_since,
    waits_for          = m.waits_for,
    provider_object_id = m.provider_object_id,
    updated_at         = m.at
FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[], $8::timestamptz[],
            $9::bigint[], $10::timestamptz[], $11::integer[], $12::timestamptz[], $13::text[], $14::text[], $15::timestamptz[])
         AS m (id, from_state, from_fence, state, reason, fence, lease_until, next_attempt_at,
               resend_fence, next_check_at, checks, open_since, waits_for, provider_object_id, at)
WHERE o.id = m.id
  AND o.state = m.from_state
  AND o.fence = m.from_fence
