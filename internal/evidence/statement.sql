INSERT INTO operator_statement (hash, operation_id, who, reason, said)
VALUES ($1, $2, $3, $4, $5)
