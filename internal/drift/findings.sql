-- Ids are time-ordered, so that the oldest comes first.
SELECT id, provider_account, kind, object_id, reference, coalesce(operation_id, '00000000-0000-0000-0000-000000000000'), movement, verdict,
       amount_minor, currency, created_at, seen_at, state = 'explained', coalesce(explained_by, ''), coalesce(reason, '')
FROM drift_finding
WHERE ($1::text = '' OR provider_account = $1)
  AND ($2::boolean OR state = 'open')
  AND id > $3
ORDER BY id
LIMIT $4
