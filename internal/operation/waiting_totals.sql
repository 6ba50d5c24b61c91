-- The same operations as waiting.sql, all pages of them. Money is at risk while it is
-- not known whether it moved.
WITH open AS MATERIALIZED (SELECT id FROM operation WHERE next_check_at IS NOT NULL
                           UNION
                           SELECT id FROM operation WHERE lease_until IS NOT NULL)
SELECT o.provider_account, o.currency, count(*), count(*) FILTER (WHERE o.state = 'unknown'),
       (coalesce(sum(o.amount_minor) FILTER (WHERE o.state = 'unknown'), 0))::text,
       count(*) FILTER (WHERE o.waits_for = 'person'), min(o.since), payonce_now()
FROM open
         CROSS JOIN LATERAL (SELECT provider_account, amount_minor, currency, state, coalesce(open_since, created_at) AS since, waits_for
                             FROM operation
                             WHERE id = open.id
                             LIMIT 1) AS o
WHERE (o.state IN ('pending', 'unknown') OR o.waits_for = 'person')
  AND ($1::text = '' OR o.provider_account = $1)
  AND ($2::text = '' OR o.waits_for = $2)
  AND o.since <= payonce_now() - $3::interval
GROUP BY o.provider_account, o.currency
ORDER BY o.provider_account, o.currency
