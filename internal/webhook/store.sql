-- One statement, so that a webhook is stored whole or not at all. A repeat meets
-- the unique key, finds its own hash there and returns no row. Another body under
-- the same id marks the first row, whose id it returns, and is kept beside it. The
-- conflict is looked at under the row's lock: of two different bodies that arrive
-- at the same instant one is the first.
WITH told AS (
    INSERT INTO provider_event (id, provider_account, event_id, event_type, hash, headers, body, next_try_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, payonce_now())
        ON CONFLICT (provider_account, event_id) DO UPDATE SET conflicting = true
            WHERE provider_event.hash <> excluded.hash
        RETURNING id),
     kept AS (
         INSERT INTO provider_event_conflict (provider_event_id, hash, event_type, headers, body)
             SELECT id, $5, $4, $6, $7
             FROM told
             WHERE id <> $1
             ON CONFLICT DO NOTHING)
SELECT id = $1
FROM told
