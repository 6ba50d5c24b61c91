-- Relative to what the row says: whoever moves a refund holds its payment. The row's
-- CHECK keeps the sum within the payment, and a trigger counts it again at commit.
UPDATE payment p
SET refunded_minor = p.refunded_minor + m.more,
    updated_at     = m.at
FROM (SELECT id, sum(more)::bigint AS more, max(at) AS at
      FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) AS moved (id, more, at)
      GROUP BY id) AS m
WHERE p.id = m.id
