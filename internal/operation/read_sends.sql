-- What was sent, and what was said, of operations that were taken to be looked at. The
-- second array holds the objects that they will be asked about.
SELECT t.id, coalesce(a.first_claimed, t.at), coalesce(a.last_send, t.at), a.sends, e.not_found_at, e.closed_at, e.closing,
       -- A resend has the bytes of the first attempt. Without one there is nothing to resend.
       -- Of what was lost only the account may be known: what gives money back went to the account that took it,
       -- and of a charge not even that is known where two losses disagree.
       coalesce((SELECT recipe FROM attempt WHERE operation_id = t.id AND epoch_id IS NULL ORDER BY fence LIMIT 1),
                CASE WHEN o.kind <> 'charge' AND a.lost THEN '@' || account_that_took(o.payment_id) END,
                (SELECT min(recipe) FROM attempt WHERE operation_id = t.id AND epoch_id IS NOT NULL HAVING min(recipe) = max(recipe)), ''),
       a.lost, a.object_in_doubt
FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS t (id, acts_on, at)
         JOIN operation o ON o.id = t.id
         CROSS JOIN LATERAL (SELECT min(claimed_at) AS first_claimed, max(last_possible_send) AS last_send, count(*) AS sends,
                                    coalesce(bool_or(epoch_id IS NOT NULL), false) AS lost,
                                    coalesce(bool_or(epoch_id IS NOT NULL AND (acted_on = t.acts_on) IS NOT TRUE), false) AS object_in_doubt
                             FROM attempt
                             WHERE operation_id = t.id AND NOT not_sent) AS a
         CROSS JOIN LATERAL (SELECT max(asked_at) FILTER (WHERE source = 'inquiry' AND verdict = 'not_taken') AS not_found_at,
                                    max(asked_at) FILTER (WHERE source = 'closure' AND verdict = 'not_taken') AS closed_at,
                                    coalesce(bool_or(source = 'closure'), false) AS closing
                             FROM evidence
                             WHERE operation_id = t.id) AS e
