-- Returns the unfinished scan of this window, whoever opened it.
INSERT INTO drift_scan (id, provider_account, identity, from_at, to_at, scheduled)
VALUES ($1, $2, $3, $4, $5, false)
ON CONFLICT (provider_account, identity, from_at, to_at) WHERE finished_at IS NULL DO UPDATE SET version = drift_scan.version
RETURNING id
