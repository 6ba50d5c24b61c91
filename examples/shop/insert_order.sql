-- A repeat of an order changes nothing here. It waits for the first one's
-- transaction, and then sees its payment.
INSERT INTO shop.customer_order (id, item)
VALUES ($1, $2)
ON CONFLICT (id) DO NOTHING
