-- One step of a walk over the keys that are older than $2, which begins behind $1
-- and goes on behind the last one that was looked at. A key without an answer stays,
-- because what it stands for is open. So the walk has to go past it, or some hundred
-- of those would fill each step and nothing would be swept any more.
WITH looked AS MATERIALIZED (
    SELECT merchant_id, route, key, created_at, status IS NOT NULL AS answered
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
    WHERE looked.answered
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
