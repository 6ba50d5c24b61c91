-- What has waited longest, oldest first. Nothing is locked, because nothing is decided here.
SELECT id, kind, amount_minor, currency, coalesce(target_object_id, provider_object_id)
FROM operation
WHERE provider_account = $1
  AND kind = $2
  AND next_attempt_at <= (SELECT payonce_now())
ORDER BY next_attempt_at
LIMIT $3
