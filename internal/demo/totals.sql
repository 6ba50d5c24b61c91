SELECT count(*),
       count(*) FILTER (WHERE p.state = 'captured'),
       count(*) FILTER (WHERE p.state IN ('failed', 'canceled')),
       count(*) FILTER (WHERE p.state NOT IN ('captured', 'failed', 'canceled')),
       coalesce(sum(p.amount_minor) FILTER (WHERE p.state = 'captured'), 0)::bigint
FROM payment p
