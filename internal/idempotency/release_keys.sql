DELETE FROM idempotency_key k
USING unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) AS refused (merchant_id, route, key, resource_id)
WHERE k.merchant_id = refused.merchant_id
  AND k.route = refused.route
  AND k.key = refused.key
  AND k.resource_id = refused.resource_id
