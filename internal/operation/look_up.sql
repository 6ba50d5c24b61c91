SELECT o.id, o.payment_id, o.kind, o.provider_account, o.amount_minor, o.currency, o.state, o.fence,
       o.waits_for, coalesce(o.target_object_id, o.provider_object_id), payonce_now(),
       coalesce(a.last_send, payonce_now()), a.sends,
       coalesce((SELECT recipe FROM attempt WHERE operation_id = o.id AND epoch_id IS NULL ORDER BY fence LIMIT 1),
                CASE WHEN o.kind <> 'charge' AND a.lost THEN '@' || account_that_took(o.payment_id) END,
                (SELECT min(recipe) FROM attempt WHERE operation_id = o.id AND epoch_id IS NOT NULL HAVING min(recipe) = max(recipe)), ''),
       a.lost, a.object_in_doubt, o.lease_until IS NOT NULL OR o.resend_fence IS NOT NULL, o.refund_reference IS NOT NULL
FROM operation o
         CROSS JOIN LATERAL (SELECT max(last_possible_send) AS last_send, count(*) AS sends,
                                    coalesce(bool_or(epoch_id IS NOT NULL), false) AS lost,
                                    coalesce(bool_or(epoch_id IS NOT NULL AND (acted_on = o.provider_object_id) IS NOT TRUE), false) AS object_in_doubt
                             FROM attempt
                             WHERE operation_id = o.id AND NOT not_sent) AS a
WHERE o.id = $1
