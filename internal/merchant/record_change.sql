INSERT INTO merchant_change (id, merchant_id, change, who, reason)
VALUES ($1, $2, $3, $4, $5)
