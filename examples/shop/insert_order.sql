-- A repeat of an order waits for the first one's transaction, and gets the key that was
-- made then: setting the id to itself changes nothing, and lets the row be returned.
INSERT INTO shop.customer_order (id, item, payment_key)
VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING payment_key
