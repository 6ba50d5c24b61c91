-- Several reconcilers share the events: a row that is held is somebody's already,
-- and a taken one is due again only when its taker must be dead. The clock is read
-- in a subquery so that it bounds the index scan.
WITH due AS MATERIALIZED (SELECT id
                          FROM provider_event
                          WHERE provider_account = $1
                            AND next_try_at <= (SELECT payonce_now())
                          ORDER BY next_try_at
                          LIMIT $2 FOR UPDATE SKIP LOCKED),
     clock AS MATERIALIZED (SELECT payonce_now() AS at)
UPDATE provider_event e
SET next_try_at = clock.at + $3::interval,
    tries       = e.tries + 1
FROM due, clock
WHERE e.id = due.id
RETURNING e.id, e.event_id, e.event_type, e.body, e.received_at, clock.at, e.tries
