package schema_test

import (
	"fmt"
	"strings"
)

// aged is a key of the payment that was reserved two days ago.
const aged = `INSERT INTO idempotency_key (merchant_id, route, key, fingerprint, fields, resource_id, created_at)
	VALUES (@merchant, 'payments', 'aged', sha256(''), '{}', @payment, payonce_now() - interval '2 days')`

const removeAged = `DELETE FROM idempotency_key WHERE key = 'aged'`

func answeredBefore(key string, hours int) string {
	return fmt.Sprintf(`UPDATE idempotency_key SET status = 201, body = '\x7b7d', answered_at = payonce_now() - interval '%d hours'
		WHERE key = '%s'`, hours, key)
}

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
			name: "the old key of a young answer is deleted", because: "keys_answer_for_a_day", refused: removeAged,
			given:   failed(aged, answeredBefore("aged", 23), strings.ReplaceAll(aged, "'aged'", "'older'"), answeredBefore("older", 25)),
			instead: `DELETE FROM idempotency_key WHERE key = 'older'`,
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
