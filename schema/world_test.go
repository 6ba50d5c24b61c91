package schema_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world names the rows of one case: a payment over 10.00 TRY with its charge,
// and a second payment of the same merchant that shall not be mixed up with it.
// The guards are tried in raw SQL: they must hold whatever the code does.
type world struct{ args pgx.NamedArgs }

// accepted is what accept commits for one payment.
var accepted = []string{
	`INSERT INTO payment (id, merchant_id, invoice_id, payment_type, amount_minor, currency, trace_parent, correlation_id, idempotency_key)
	 VALUES (@payment, @merchant, @invoice, 'invoice', 1000, 'TRY', '', '', 'key')`,
	`INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, next_attempt_at)
	 VALUES (@operation, @payment, 'charge', 'card', 1000, 'TRY', payonce_now())`,
	`INSERT INTO invoice_identity (merchant_id, invoice_id, payment_type, payment_id) VALUES (@merchant, @invoice, 'invoice', @payment)`,
	`INSERT INTO reference_identity (merchant_id, external_reference, payment_id) VALUES (@merchant, @invoice, @payment)`,
	`INSERT INTO idempotency_key (merchant_id, route, key, fingerprint, fields, resource_id)
	 VALUES (@merchant, 'payments', @invoice, sha256(''), '{}', @payment)`,
	`INSERT INTO payment_history (payment_id, operation_id, to_state, fence, event_id, event_type, event_topic, headers, payload)
	 VALUES (@payment, @operation, 'created', 0, gen_random_uuid(), 'type', 'topic', '[]', '')`,
}

func newWorld(t *testing.T, pool *pgxpool.Pool) world {
	t.Helper()
	w := world{pgx.NamedArgs{
		"merchant": uuid.New(), "payment": uuid.New(), "operation": uuid.New(),
		"other_payment": uuid.New(), "other_operation": uuid.New(), "invoice": "INV-1", "fresh": uuid.New(), "fresh_operation": uuid.New(),
		"case": uuid.New(), "other_case": uuid.New(), "refund": uuid.New(), "other_refund": uuid.New(),
	}}
	second := pgx.NamedArgs{
		"merchant": w.args["merchant"], "payment": w.args["other_payment"], "operation": w.args["other_operation"], "invoice": "INV-2",
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		merchant := "INSERT INTO merchant (id, name, provider_account) VALUES (@merchant, 'Shop', 'card')"
		if _, err := tx.Exec(t.Context(), merchant, w.args); err != nil {
			return err
		}
		for _, args := range []pgx.NamedArgs{w.args, second} {
			for _, statement := range accepted {
				if _, err := tx.Exec(t.Context(), statement, args); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	return w
}

// The times of a case, in seconds after its first claim.
const (
	leaseSeconds = 10 // how long an attempt may send
	graceSeconds = 5  // between the lease's end and the last possible send
)

func at(seconds int) string {
	return fmt.Sprintf("(timestamptz '2026-05-04 03:02:01Z' + interval '%d s')", seconds)
}

// recorded is the row of one attempt, claimed some seconds after the first.
func recorded(fence, claimed int) string {
	return fmt.Sprintf(`INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send)
		VALUES (@operation, %d, 'worker', 'recipe/1', %s, %s, %s)`,
		fence, at(claimed), at(claimed+leaseSeconds), at(claimed+leaseSeconds+graceSeconds))
}

// leased is the move that goes with it.
func leased(state string, fence, claimed int) string {
	return fmt.Sprintf(`UPDATE operation SET state = '%s', fence = %d, lease_until = %s, next_attempt_at = NULL, next_check_at = NULL
		WHERE id = @operation`, state, fence, at(claimed+leaseSeconds))
}

// moved ends a lease in a state.
func moved(state string) string {
	return fmt.Sprintf(`UPDATE operation SET state = '%s', lease_until = NULL, next_check_at = payonce_now() WHERE id = @operation`, state)
}

const (
	succeed = `UPDATE operation SET state = 'succeeded', lease_until = NULL WHERE id = @operation`
	// lateTruth is how created learns that it was sent after all.
	lateTruth = `UPDATE operation SET state = 'unknown', next_attempt_at = NULL, next_check_at = payonce_now() WHERE id = @operation`
	// noted changes nothing that a guard looks at.
	noted = `UPDATE operation SET updated_at = payonce_now() WHERE id = @operation`
)

// shown lets the payment follow its charge.
func shown(state string) string {
	return fmt.Sprintf(`UPDATE payment SET state = '%s' WHERE id = @payment`, state)
}

func finished(fence int, notSent bool) string {
	return fmt.Sprintf(`UPDATE attempt SET not_sent = %t, finished_at = payonce_now()
		WHERE operation_id = @operation AND fence = %d`, notSent, fence)
}

// evidence is one row of evidence. The zero values are 1000 TRY where money is
// named, no attempt, and nothing covered.
type evidence struct {
	source, verdict string
	of              string // default: operation
	fence           int
	minor           int
	currency        string
	asked           int  // seconds
	covers          bool // up to asked
	coversEarlier   bool
	object          string // the provider's name of the movement
}

func (e evidence) sql() string {
	of, fence, money, covers, object := "operation", "NULL", "NULL, NULL", "NULL", "NULL"
	if e.of != "" {
		of = e.of
	}
	if e.fence > 0 {
		fence = fmt.Sprint(e.fence)
	}
	if e.minor > 0 {
		money = fmt.Sprintf("%d, '%s'", e.minor, e.currency)
	}
	if e.object != "" {
		object = "'" + e.object + "'"
	}
	if e.covers {
		covers = at(e.asked)
	}
	return fmt.Sprintf(`INSERT INTO evidence (id, operation_id, fence, source, verdict, amount_minor, currency, asked_at, covers_until,
		covers_earlier, provider_object_id, hash) VALUES (gen_random_uuid(), @%s, %s, '%s', '%s', %s, %s, %s, %t, %s, sha256(''))`,
		of, fence, e.source, e.verdict, money, at(e.asked), covers, e.coversEarlier, object)
}

// captured is the evidence that makes the operation succeed.
var captured = evidence{source: "answer", verdict: "captured", fence: 1, minor: 1000, currency: "TRY"}

// posting books the operation with two lines.
func posting(minor int, currency string) string {
	return postingTo(clearing, owedAccount, minor, currency)
}

// postingTo books the operation. The accounts are SQL expressions.
func postingTo(debit, credit string, minor int, currency string) string {
	return fmt.Sprintf(`INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
		VALUES (@operation, 'movement', 1, %[1]s, '%[4]s', %[3]d), (@operation, 'movement', 2, %[2]s, '%[4]s', -%[3]d)`, debit, credit, minor, currency)
}

// The accounts of the operation, and some of others'.
const (
	anothersOwed     = "'merchant:' || @fresh::uuid || ':payable'"
	anothersClearing = "'provider:bank:clearing'"
	accounts         = `INSERT INTO ledger_account (code, currency)
		SELECT code, currency FROM unnest(ARRAY[` + clearing + `, ` + owedAccount + `, ` + anothersClearing + `, ` + anothersOwed + `]) code,
			unnest(ARRAY['TRY', 'USD']) currency ON CONFLICT DO NOTHING`
)
