package accept

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// till is a merchant at a database of its own.
type till struct {
	*testkit.Database
	shop  merchant.Merchant
	rules Rules
}

func newTill(t *testing.T) *till {
	t.Helper()
	d := &till{
		Database: testkit.NewDatabase(t),
		rules:    Rules{Topic: event.TopicsWithPrefix("payonce").Requests, Source: event.Source("test")},
	}
	d.shop = d.merchant(t)
	return d
}

func (d *till) merchant(t *testing.T) merchant.Merchant {
	t.Helper()
	created, _, err := merchant.NewDirectory(d.App).Create(t.Context(), t.Name(), "simulated")
	require.NoError(t, err)
	return created
}

// order is a plain request of the till's merchant.
func (d *till) order(t *testing.T, key, invoice string, changes ...func(*Command)) Request {
	t.Helper()
	c := Command{
		MerchantID: d.shop.ID, ProviderAccount: d.shop.ProviderAccount, IdempotencyKey: key,
		InvoiceID: invoice, PaymentType: "invoice", Amount: "10.00", Currency: "TRY",
	}
	for _, change := range changes {
		change(&c)
	}
	return must(t, c)
}

func amount(text string) func(*Command)    { return func(c *Command) { c.Amount = text } }
func reference(text string) func(*Command) { return func(c *Command) { c.ExternalReference = &text } }
func before(at time.Time) func(*Command) {
	return func(c *Command) { c.ChargeBefore = new(at.Format(time.RFC3339Nano)) }
}

// accept commits the requests in one transaction.
func (d *till) accept(t *testing.T, requests ...Request) []Result {
	t.Helper()
	var results []Result
	require.NoError(t, pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) (err error) {
		results, err = d.rules.Accept(t.Context(), tx, requests)
		return err
	}))
	return results
}

// rows counts what is stored, by table.
func (d *till) rows(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{
		"idempotency_key", "invoice_identity", "reference_identity", "payment", "operation", "payment_history", "outbox",
	} {
		var n int
		require.NoError(t, d.App.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		counts[table] = n
	}
	return counts
}

func stored(payments, references int) map[string]int {
	return map[string]int{
		"idempotency_key": payments, "invoice_identity": payments, "reference_identity": references,
		"payment": payments, "operation": payments, "payment_history": payments, "outbox": payments,
	}
}

// answer reads the answer that is stored for a payment.
func (d *till) answer(t *testing.T, id uuid.UUID) *Answer {
	t.Helper()
	var a Answer
	require.NoError(t, d.App.QueryRow(t.Context(), "SELECT status, body FROM idempotency_key WHERE resource_id = $1", id).Scan(&a.Status, &a.Body))
	return &a
}

func TestI2_OneTransactionWritesAllOfAPayment(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	request := d.order(t, "k-1", "INV-1", reference("PO-1"), func(c *Command) {
		c.PaymentMethod, c.Metadata, c.CorrelationID = new("tok_secret"), []byte(`{"b":1,"a":2}`), "c-1"
	})
	result := d.accept(t, request)[0]
	require.Equal(t, OutcomeAccepted, result.Outcome)
	require.Equal(t, result.PaymentID, result.Payment.ID)
	require.Equal(t, payment.StateCreated, result.Payment.State)
	require.Equal(t, "10.00", result.Payment.Amount)
	require.Equal(t, "PO-1", *result.Payment.ExternalReference)
	require.Equal(t, stored(1, 1), d.rows(t))

	var account, token string
	var due time.Duration
	require.NoError(t, d.App.QueryRow(t.Context(),
		`SELECT o.provider_account, p.payment_method, o.next_attempt_at - p.created_at
		 FROM operation o JOIN payment p ON p.id = o.payment_id WHERE o.id = $1`, result.Payment.OperationID).Scan(&account, &token, &due))
	require.Equal(t, "simulated", account)
	require.Equal(t, "tok_secret", token)
	require.Equal(t, time.Minute, due, "PostgreSQL is the work list")
}

func TestE1_AcceptAsksForTheChargeWithoutTheToken(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	result := d.accept(t, d.order(t, "k-1", "INV-1", func(c *Command) {
		c.PaymentMethod, c.TraceParent, c.CorrelationID, c.CausationID = new("tok_secret"), trace, "c-1", "req-1"
	}))[0]
	var key uuid.UUID
	var topic string
	var headers []event.Header
	var payload []byte
	require.NoError(t, d.App.QueryRow(t.Context(), "SELECT key, topic, headers, payload FROM outbox").Scan(&key, &topic, &headers, &payload))
	require.Equal(t, result.PaymentID, key)
	require.Equal(t, "payonce.requests", topic)
	received, err := event.Receive([]byte(key.String()), headers)
	require.NoError(t, err)
	require.Equal(t, event.PaymentRequested, received.Type)
	require.Equal(t, event.Context{TraceParent: trace, CorrelationID: "c-1", CausationID: "req-1", IdempotencyKey: "k-1"}, received.Context)

	var data event.Requested
	require.NoError(t, json.Unmarshal(payload, &data))
	require.Equal(t, event.Requested{
		PaymentID: result.PaymentID, OperationID: result.Payment.OperationID, MerchantID: d.shop.ID, InvoiceID: "INV-1",
		PaymentType: "invoice", Amount: "10.00", AmountMinor: "1000", Currency: "TRY",
	}, data)

	var history string
	require.NoError(t, d.App.QueryRow(t.Context(), "SELECT to_jsonb(h)::text || convert_from(payload, 'UTF8') FROM payment_history h").Scan(&history))
	require.Contains(t, history, received.ID.String(), "kept to be published again")
	require.NotContains(t, history+string(payload), "tok_secret", "I19")
}

func TestR8_WithoutACorrelationIDThePaymentIsItsOwn(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	result := d.accept(t, d.order(t, "k-1", "INV-1"))[0]
	var correlation string
	require.NoError(t, d.App.QueryRow(t.Context(), "SELECT correlation_id FROM payment").Scan(&correlation))
	require.Equal(t, result.PaymentID.String(), correlation)
}

func TestI4_ARepeatGetsThePaymentAsItIsNowAndThenTheStoredBytes(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	request := d.order(t, "k-1", "INV-1")
	first := d.accept(t, request)[0]
	again := d.accept(t, request)[0]
	require.Equal(t, Result{Outcome: OutcomeReplayed, PaymentID: first.PaymentID, Payment: first.Payment}, again)

	settle.Charge(t, d.App, first.Payment, payment.VerdictCaptured)
	stored := d.answer(t, first.PaymentID)
	require.Equal(t, 201, stored.Status)
	require.Contains(t, string(stored.Body), `"state":"captured"`)
	require.Equal(t, Result{Outcome: OutcomeReplayed, PaymentID: first.PaymentID, Answer: stored}, d.accept(t, request)[0])
	require.Equal(t, 1, d.rows(t)["payment"])
}

func TestI4_APaymentThatBecomesFinalBetweenTwoStatementsIsAnsweredAsFinal(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	request := d.order(t, "k-1", "INV-1")
	first := d.accept(t, request)[0]
	require.NoError(t, pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		c, err := newCandidate(request)
		require.NoError(t, err)
		require.NoError(t, d.rules.acceptFirsts(t.Context(), tx, []*candidate{c}))
		require.False(t, c.record.Answered(), "the key was read as open")
		settle.Charge(t, d.App, first.Payment, payment.VerdictCaptured) // commits now, elsewhere
		require.NoError(t, show(t.Context(), tx, []*candidate{c}))
		require.Equal(t, d.answer(t, first.PaymentID), c.result.Answer)
		return nil
	}))
}

func TestI5_AnotherPayloadIsRefusedByNameAndTheFirstIsUntouched(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	first := d.accept(t, d.order(t, "k-1", "INV-1"))[0]
	result := d.accept(t, d.order(t, "k-1", "INV-2", amount("10.01"), reference("PO-1")))[0]
	require.Equal(t, Result{Outcome: OutcomeMismatched, Differing: []string{FieldAmount, FieldExternalReference, FieldInvoiceID}}, result)
	require.Equal(t, stored(1, 0), d.rows(t))
	require.Equal(t, first.Payment, d.accept(t, d.order(t, "k-1", "INV-1"))[0].Payment)
}

func TestI9_ALivePaymentHoldsItsInvoiceAndItsReference(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	first := d.accept(t, d.order(t, "k-1", "INV-1", reference("PO-1")))[0]
	results := d.accept(t,
		d.order(t, "k-2", "INV-1"),
		d.order(t, "k-3", "INV-3", reference("PO-1")),
		d.order(t, "k-4", "INV-1", func(c *Command) { c.PaymentType = "deposit" }))
	require.Equal(t, Result{Outcome: OutcomeConflicting, PaymentID: first.PaymentID, Payment: first.Payment, Holds: FieldInvoiceID}, results[0])
	require.Equal(t, Result{Outcome: OutcomeConflicting, PaymentID: first.PaymentID, Payment: first.Payment, Holds: FieldExternalReference}, results[1])
	require.Equal(t, OutcomeAccepted, results[2].Outcome, "another type is another payment")
	require.Equal(t, stored(2, 1), d.rows(t), "I4: the refused left nothing, not even their keys")

	require.Equal(t, OutcomeAccepted, d.accept(t, d.order(t, "k-3", "INV-3"))[0].Outcome,
		"the refused request's invoice and key are free")
}

func TestI9_AfterADeclineTheInvoiceCanBePaidAgain(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	first := d.accept(t, d.order(t, "k-1", "INV-1"))[0]
	settle.Charge(t, d.App, first.Payment, payment.VerdictDeclined)
	second := d.accept(t, d.order(t, "k-2", "INV-1"))[0]
	require.Equal(t, OutcomeAccepted, second.Outcome)
	require.NotEqual(t, first.PaymentID, second.PaymentID)
	require.Equal(t, d.answer(t, first.PaymentID), d.accept(t, d.order(t, "k-1", "INV-1"))[0].Answer, "the first key keeps its answer")
}

func TestI7_MerchantsDoNotMeet(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	stranger := d.merchant(t)
	theirs := func(c *Command) { c.MerchantID = stranger.ID }
	results := d.accept(t, d.order(t, "k", "INV-1", reference("PO-1")), d.order(t, "k", "INV-1", reference("PO-1"), theirs, amount("20.00")))
	require.Equal(t, OutcomeAccepted, results[0].Outcome)
	require.Equal(t, OutcomeAccepted, results[1].Outcome)
	require.NotEqual(t, results[0].PaymentID, results[1].PaymentID)
}

func TestRequestsOfOneTransactionAreAnsweredAsIfTheyCameOneAfterTheOther(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	held := d.accept(t, d.order(t, "held", "INV-0"))[0]
	outcomes := func(requests ...Request) []Outcome {
		var list []Outcome
		for _, r := range d.accept(t, requests...) {
			list = append(list, r.Outcome)
		}
		return list
	}
	require.Equal(t, []Outcome{OutcomeAccepted, OutcomeReplayed, OutcomeMismatched, OutcomeReplayed},
		outcomes(d.order(t, "a", "INV-1"), d.order(t, "a", "INV-1"), d.order(t, "a", "INV-2"), d.order(t, "a", "INV-1")),
		"one key")
	require.Equal(t, []Outcome{OutcomeAccepted, OutcomeConflicting},
		outcomes(d.order(t, "b", "INV-3"), d.order(t, "c", "INV-3")), "one invoice")
	require.Equal(t, []Outcome{OutcomeMismatched, OutcomeReplayed, OutcomeReplayed},
		outcomes(d.order(t, "held", "INV-9"), d.order(t, "held", "INV-0"), d.order(t, "held", "INV-0")), "a key that was there")
	results := d.accept(t, d.order(t, "d", "INV-0"), d.order(t, "d", "INV-0"), d.order(t, "d", "INV-4"), d.order(t, "d", "INV-4"))
	require.Equal(t, OutcomeConflicting, results[0].Outcome, "a refused request leaves its key free")
	require.Equal(t, results[0], results[1])
	require.Equal(t, held.PaymentID, results[0].Payment.ID)
	require.Equal(t, OutcomeAccepted, results[2].Outcome, "for the next one, which is another request")
	require.Equal(t, OutcomeReplayed, results[3].Outcome)
	require.Equal(t, results[2].Payment, results[3].Payment)
	require.Equal(t, stored(4, 0), d.rows(t))
}

func TestI1_ChargeBeforeMustLieAheadAtTheFirstAcceptanceOnly(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	deadline := time.Now().Add(time.Hour)
	inTime := d.order(t, "k-1", "INV-1", before(deadline))
	require.Equal(t, OutcomeAccepted, d.accept(t, inTime)[0].Outcome)

	d.SetNow(t, 2*time.Hour)
	require.Equal(t, OutcomeReplayed, d.accept(t, inTime)[0].Outcome, "a repeat is answered at any time")
	late := d.accept(t, d.order(t, "k-2", "INV-2", before(deadline)))[0]
	require.Equal(t, Result{
		Outcome: OutcomeRefused, Refusal: &InvalidError{Fields: []FieldError{{FieldChargeBefore, "has passed"}}},
	}, late)
	require.Equal(t, stored(1, 0), d.rows(t))
}

func TestI10_AnAmountThatTheProviderCannotRepresentIsRefusedAtTheFirstAcceptanceOnly(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	request := d.order(t, "k-1", "INV-1")
	require.Equal(t, OutcomeAccepted, d.accept(t, request)[0].Outcome)
	d.rules.Chargeable = func(account string, a money.Amount) error {
		require.Equal(t, "simulated", account)
		require.Equal(t, int64(1000), a.Minor())
		return errors.New("cannot be represented by the provider")
	}
	require.Equal(t, OutcomeReplayed, d.accept(t, request)[0].Outcome)
	refused := d.accept(t, d.order(t, "k-2", "INV-2"))[0]
	require.Equal(t, []FieldError{{FieldAmount, "cannot be represented by the provider"}}, refused.Refusal.Fields)
	require.Equal(t, stored(1, 0), d.rows(t))
}

func TestP5_ARolledBackAcceptLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	rollback := errors.New("the caller changed its mind")
	err := pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		results, err := d.rules.Accept(t.Context(), tx, []Request{d.order(t, "k-1", "INV-1", reference("PO-1"))})
		require.NoError(t, err)
		require.Equal(t, OutcomeAccepted, results[0].Outcome)
		return rollback
	})
	require.ErrorIs(t, err, rollback)
	require.Equal(t, stored(0, 0), d.rows(t))
}

// betweenTx runs something before the first query that holds a text.
type betweenTx struct {
	pgx.Tx
	text string
	once *sync.Once
	run  func()
}

func (tx betweenTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if strings.Contains(sql, tx.text) {
		tx.once.Do(tx.run)
	}
	return tx.Tx.Query(ctx, sql, args...)
}

func TestI9_AnInvoiceThatIsLetGoBetweenTwoStatementsIsHeldNotForgotten(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	first := d.accept(t, d.order(t, "k-1", "INV-1", reference("PO-1")))[0]
	tx, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	// The insert meets the first payment's row; before anyone asks whose it is,
	// that payment fails and lets it go.
	between := betweenTx{tx, "JOIN invoice_identity held", &sync.Once{}, func() {
		settle.Charge(t, d.App, first.Payment, payment.VerdictDeclined)
	}}
	results, err := d.rules.Accept(t.Context(), between, []Request{d.order(t, "k-2", "INV-1", reference("PO-1"))})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, OutcomeAccepted, results[0].Outcome)
	require.Equal(t, OutcomeConflicting, d.accept(t, d.order(t, "k-3", "INV-1"))[0].Outcome, "the second payment holds the invoice")
	require.Equal(t, OutcomeConflicting, d.accept(t, d.order(t, "k-4", "INV-4", reference("PO-1")))[0].Outcome)
}
