-- An answer is stored in the commit that makes its resource final, so what has none
-- is open. LIMIT inside keeps the server on the index of resources: with statistics
-- of an empty table it would read all keys of the route.
SELECT answered.resource_id, answered.status, answered.body
FROM unnest($2::uuid[]) AS wanted (resource_id)
         CROSS JOIN LATERAL (SELECT k.resource_id, k.status, k.body
                             FROM idempotency_key k
                             WHERE k.resource_id = wanted.resource_id
                               AND k.route = $1
                               AND k.status IS NOT NULL
                             LIMIT 1) AS answered
