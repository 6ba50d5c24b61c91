-- An operation's id is older than its row, by what an accept takes and by how far the
-- clocks differ; an hour is beyond both.
INSERT INTO drift_scanned (provider_account, identity, scanned_until)
VALUES ($1, $2, coalesce((SELECT created_at - interval '1 hour' FROM operation ORDER BY id LIMIT 1), payonce_now()))
ON CONFLICT DO NOTHING
