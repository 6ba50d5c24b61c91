INSERT INTO payment_case_history (case_id, version, from_state, to_state, plan, actor, who, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
