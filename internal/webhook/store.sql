-- One statement, so that a webhook is stored whole or not at all. A repeat meets
-- the unique key, finds that it says the same and returns no row: its bytes may
-- differ, as between two endpoints. Another word under the same id marks the first
-- row, whose id it returns, and is kept beside it. What cannot be read is compared by
-- its hash. The conflict is looked at under the row's lock: of two different bodies
-- that arrive at the same instant one is the first.
WITH told AS (
    INSERT INTO provider_event (id, provider_account, event_id, event_type, hash, says, headers, body, next_try_at)
        VALUES ($1, $2, $3, $4, $5, $8, $6, $7, payonce_now())
        ON CONFLICT (provider_account, event_id) DO UPDATE SET conflicting = true
            WHERE CASE WHEN provider_event.says IS NULL OR excluded.says IS NULL THEN provider_event.hash <> excluded.hash
                       ELSE provider_event.says <> excluded.says OR provider_event.event_type <> excluded.event_type END
        RETURNING id),
     kept AS (
         INSERT INTO provider_event_conflict (provider_event_id, hash, event_type, headers, body)
             SELECT id, $5, $4, $6, $7
             FROM told
             WHERE id <> $1
             ON CONFLICT DO NOTHING)
SELECT id = $1
FROM told
