UPDATE shop.customer_order
SET payment_id = $2
WHERE id = $1
