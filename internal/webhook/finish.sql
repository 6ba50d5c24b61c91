-- In the order of their ids, as all who lock several events do.
WITH said AS MATERIALIZED (SELECT id, tries, state, reason, operation_id
                           FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::uuid[])
                                    AS f (id, tries, state, reason, operation_id)),
     held AS MATERIALIZED (SELECT e.id
                           FROM provider_event e
                                    JOIN said s ON s.id = e.id
                           WHERE e.tries = s.tries
                             AND e.state = 'waiting'
                           ORDER BY e.id
                               FOR UPDATE OF e)
UPDATE provider_event e
SET state        = s.state,
    reason       = s.reason,
    operation_id = s.operation_id,
    next_try_at  = NULL,
    done_at      = payonce_now()
FROM said s
         JOIN held h ON h.id = s.id
WHERE e.id = s.id
RETURNING e.id
