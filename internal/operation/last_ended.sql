-- The last payment of an invoice that came to nothing, with the key that it was
-- accepted under while that key is kept. The payments of one invoice and type that
-- have ended followed each other, so the last one is the same for everybody who asks
-- until another one ends.
--
-- Of each state one row is read, from the end of its index range: an invoice that was
-- tried a thousand times costs no more than one that was tried once.
SELECT wanted.place, p.id, k.key, k.fingerprint, p.updated_at > payonce_now() - $4::interval
FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS wanted (merchant_id, invoice_id, payment_type, place)
         CROSS JOIN LATERAL (SELECT last.id, last.updated_at
                             FROM unnest(ARRAY ['failed', 'canceled']) AS ended (state)
                                      CROSS JOIN LATERAL (SELECT id, created_at, updated_at
                                                          FROM payment
                                                          WHERE merchant_id = wanted.merchant_id
                                                            AND invoice_id = wanted.invoice_id
                                                            AND payment_type = wanted.payment_type
                                                            AND state = ended.state
                                                          ORDER BY created_at DESC, id DESC
                                                          LIMIT 1) AS last
                             ORDER BY last.created_at DESC, last.id DESC
                             LIMIT 1) AS p
         LEFT JOIN LATERAL (SELECT key, fingerprint
                            FROM idempotency_key
                            WHERE resource_id = p.id
                              AND route = $5
                            LIMIT 1) AS k ON true
