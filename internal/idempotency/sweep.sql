-- One step of a walk over the keys that are older than $2, which begins behind $1
-- and goes on behind the last one that was looked at. A key whose resource is open
-- stays, and so does one whose answer is younger than $4. So the walk has to go past
-- them, or some hundred of those would fill each step and nothing would be swept any
-- more.
WITH looked AS MATERIALIZED (
    SELECT merchant_id, route, key, created_at, resource_id, status IS NOT NULL AS answered, answered_at
    FROM idempotency_key
    WHERE created_at > $1
      AND created_at <= (SELECT payonce_now()) - $2::interval
    ORDER BY created_at
    -- Keys of the same microsecond go together: the next step begins behind it.
    FETCH FIRST $3 ROWS WITH TIES
),
-- A key that somebody holds, such as another sweeper, is left to the next walk. Only
-- what goes is locked: an outcome that stores an answer waits for no sweep.
locked AS MATERIALIZED (
    SELECT k.merchant_id, k.route, k.key
    FROM looked
             JOIN idempotency_key k USING (merchant_id, route, key)
    WHERE CASE
              -- An answer without a time was stored by a version that kept none.
              WHEN looked.answered THEN coalesce(looked.answered_at <= (SELECT payonce_now()) - $4::interval, true)
              -- An answer comes with the commit that makes its resource final. Should one
              -- be missing all the same, its key does not stay for ever.
              ELSE EXISTS (SELECT FROM payment p
                           WHERE p.id = looked.resource_id
                             AND p.state IN ('captured', 'failed', 'canceled')
                             AND p.updated_at <= (SELECT payonce_now()) - $4)
                  OR EXISTS (SELECT FROM operation o
                             WHERE o.id = looked.resource_id
                               AND o.refund_reference IS NOT NULL
                               AND o.state IN ('succeeded', 'failed', 'canceled')
                               AND o.updated_at <= (SELECT payonce_now()) - $4)
        END
    FOR UPDATE OF k SKIP LOCKED
),
swept AS (
    DELETE FROM idempotency_key k
    USING locked
    WHERE k.merchant_id = locked.merchant_id
      AND k.route = locked.route
      AND k.key = locked.key
    RETURNING 1
)
SELECT (SELECT count(*) FROM swept), (SELECT max(created_at) FROM looked)
