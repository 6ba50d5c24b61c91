UPDATE provider_event_conflict c
SET body    = NULL,
    headers = NULL
FROM (SELECT provider_event_id, hash
      FROM provider_event_conflict
      WHERE body IS NOT NULL
        AND received_at <= (SELECT payonce_now()) - $1::interval
      ORDER BY received_at
      LIMIT $2 FOR UPDATE SKIP LOCKED) AS old
WHERE c.provider_event_id = old.provider_event_id
  AND c.hash = old.hash
