-- Of several scanners one inserts, and the others meet its row: the schedule has at
-- most one unfinished scan of an account.
INSERT INTO drift_scan (id, provider_account, identity, from_at, to_at, scheduled)
SELECT $1, provider_account, identity, scanned_until, least(payonce_now() - $4::interval, scanned_until + $6::interval), true
FROM drift_scanned
WHERE provider_account = $2
  AND identity = $3
  AND scanned_until <= payonce_now() - $4::interval - $5::interval
ON CONFLICT DO NOTHING
