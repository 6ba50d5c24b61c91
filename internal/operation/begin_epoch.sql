-- Whatever is open must be older than the bump, or it would be left out: after a
-- failover the new server's clock may be behind the old one's.
INSERT INTO epoch (id, in_flight, who, reason)
SELECT $1, $2, $3, $4
WHERE NOT EXISTS (SELECT FROM operation WHERE next_attempt_at IS NOT NULL AND created_at > payonce_now())
  AND NOT EXISTS (SELECT FROM operation WHERE next_check_at IS NOT NULL AND created_at > payonce_now())
  AND NOT EXISTS (SELECT FROM operation WHERE lease_until IS NOT NULL AND created_at > payonce_now())
RETURNING id, bumped_at, in_flight, who, reason
