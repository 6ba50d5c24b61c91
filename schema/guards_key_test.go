package schema_test

// aged is a key of the payment that was reserved two days ago.
const aged = `INSERT INTO idempotency_key (merchant_id, route, key, fingerprint, fields, resource_id, created_at)
	VALUES (@merchant, 'payments', 'aged', sha256(''), '{}', @payment, payonce_now() - interval '2 days')`

const removeAged = `DELETE FROM idempotency_key WHERE key = 'aged'`

// keys: a key answers for a day at least, and while what it stands for is open (I12).
func keys() []guard {
	young := `DELETE FROM idempotency_key WHERE resource_id = @payment AND key <> 'aged'`
	refused := `INSERT INTO idempotency_key (merchant_id, route, key, fingerprint, fields, resource_id)
		VALUES (@merchant, 'payments', 'refused', sha256(''), '{}', @fresh)`
	return []guard{
		{
			name: "the key of a created payment is deleted", given: []string{aged}, refused: removeAged,
			because: "an_open_payment_keeps_its_key",
			proof:   failed(),
		},
		{
			name: "the key of an unknown payment is deleted", given: claimed(aged, moved("unknown"), shown("unknown")), refused: removeAged,
			because: "an_open_payment_keeps_its_key",
			proof:   []string{captured.sql(), `UPDATE operation SET state = 'succeeded' WHERE id = @operation`, shown("captured")},
		},
		{
			name: "the young key of a final payment is deleted", given: failed(aged), refused: young,
			because: "keys_answer_for_a_day", instead: removeAged,
		},
		{
			name: "the young key of an operation is deleted", because: "keys_answer_for_a_day",
			given: failed(refused, `INSERT INTO idempotency_key (merchant_id, route, key, fingerprint, fields, resource_id)
				VALUES (@merchant, 'refunds', 'k', sha256(''), '{}', @operation)`),
			refused: `DELETE FROM idempotency_key WHERE route = 'refunds'`,
			instead: `DELETE FROM idempotency_key WHERE key = 'refused'`, // nothing stands behind it
		},
	}
}
