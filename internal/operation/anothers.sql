-- Which movements cannot be those of which refunds: what a refund acts on, and what another
-- refund at the same account succeeded with.
SELECT o.id, named.movement
FROM operation o
         CROSS JOIN (SELECT DISTINCT m AS movement FROM unnest($2::text[]) AS m) AS named
WHERE o.id = ANY ($1::uuid[])
  AND o.kind = 'refund'
  AND (o.target_object_id = named.movement
    OR EXISTS (SELECT
               FROM operation other
               WHERE other.kind = 'refund' AND other.state = 'succeeded'
                 AND other.provider_account = o.provider_account AND other.provider_object_id = named.movement
                 AND other.id <> o.id))
