INSERT INTO merchant (id, name, provider_account)
VALUES ($1, $2, $3)
