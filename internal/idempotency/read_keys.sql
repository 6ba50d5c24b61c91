-- A second statement on purpose: a key that was committed after the insert began
-- is invisible to the insert, although the insert conflicts with it. One row for
-- each key that was asked for, in the order in which they were asked for.
SELECT k.resource_id, k.fingerprint, k.fields, coalesce(k.status, 0), k.body, k.created_at
FROM unnest($1::uuid[], $2::text[], $3::text[])
         WITH ORDINALITY AS wanted (merchant_id, route, key, place)
         JOIN idempotency_key k USING (merchant_id, route, key)
ORDER BY wanted.place
