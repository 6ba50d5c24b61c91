package drift

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

//go:embed unweighed.sql
var unweighedSQL string

//go:embed weighed.sql
var weighedSQL string

// seen is a movement that the list named, beside the operation that it refers to.
type seen struct {
	provider.Movement

	askedAt time.Time
	tries   int
	about   *referred // nil: there is no such operation
	told    bool      // captured evidence says the same already
}

// referred is an operation as a movement refers to it.
type referred struct {
	id, payment uuid.UUID
	account     string
	kind        payment.Kind
	state       payment.OperationState
	amount      money.Amount
	recipe      string // of its first attempt
	object      string // the provider's name of its own movement; empty where nothing names it
	known       bool   // what it succeeded with is listed as well, or a case doubts it
}

// finding is what the difference is when it goes to a person.
func (s seen) finding(kind Kind) Finding {
	f := Finding{
		Kind: kind, ObjectID: s.ObjectID, Reference: s.Reference, Movement: s.Kind, Verdict: s.Verdict, Amount: s.Amount,
		CreatedAt: s.CreatedAt,
	}
	if s.about != nil {
		f.OperationID = s.about.id
	}
	return f
}

// weight is what follows from one movement. The zero weight is that nothing does.
type weight struct {
	finds  Kind             // for a person
	tells  *outcome.Outcome // evidence
	asks   bool             // the operation is final, and the provider may still hold this money for it
	first  bool             // what the operation succeeded with is asked about, before anything is told
	agrees bool             // the list says captured, as the books do
}

// own reports that the movement is the operation's own. Where nothing names that, an
// inquiry by our reference finds it; of what is prepared at the provider only the name does.
func (w *work) own(s seen) bool {
	if s.about.object == "" {
		return s.about.kind != payment.KindCharge || !w.connector.Capabilities().Prepares
	}
	return s.about.object == s.ObjectID
}

// weigh decides about one movement. What is captured there is evidence at once, from
// whatever state: outcome opens the case. What is declined or not taken there proves
// nothing; whether our books say otherwise is the other direction's question.
func (w *work) weigh(s seen) weight {
	moved := s.Verdict == payment.VerdictCaptured || s.Verdict == payment.VerdictPending || s.Verdict == payment.VerdictUnclear
	switch {
	case !moved:
		return weight{}
	case s.about == nil:
		return weight{finds: Unasked}
	case s.about.account != w.scan.ProviderAccount, !provider.SameAccount(s.about.recipe, w.connector.Recipe()):
		return weight{finds: OtherAccount}
	case s.about.kind != s.Kind:
		return weight{finds: OtherKind}
	case s.Verdict != payment.VerdictCaptured:
		return w.weighOpen(s)
	case s.Amount.IsZero() && !s.told:
		return weight{finds: Unreadable}
	}
	return w.weighCaptured(s)
}

// weighCaptured decides about a movement of an operation that took place.
func (w *work) weighCaptured(s seen) weight {
	v := weight{agrees: s.about.object == "" || s.about.object == s.ObjectID}
	if !s.told {
		v.tells = s.word()
	}
	v.first = !v.agrees && !s.about.known && s.about.kind == payment.KindCharge && s.about.state == payment.OperationSucceeded
	if v.first && !w.connector.Capabilities().Inquiry.Supported {
		return weight{finds: Unsettled} // it could be the only money that there is
	}
	return v
}

// weighOpen decides about a movement that is under way, or unclear. It is judged by its
// own name: that the operation is settled, or looked at, says nothing about another one.
func (w *work) weighOpen(s seen) weight {
	var v weight
	switch s.about.state {
	case payment.OperationFailed, payment.OperationCanceled, payment.OperationSucceeded:
		return weight{asks: true}
	case payment.OperationCreated:
		if word := s.word(); word.Learned.Verdict == payment.VerdictPending {
			v.tells = word // it keeps the operation from being sent: the provider may hold it
		}
	default: // the reconciler looks at its own
	}
	if !w.own(s) {
		v.finds = Unsettled
	}
	return v
}

// asked is what the provider is to be asked about.
type asked struct {
	operation uuid.UUID
	object    string // empty for what the operation succeeded with
}

func (s seen) asked() asked {
	if s.about.state == payment.OperationSucceeded && s.about.object == s.ObjectID {
		return asked{operation: s.about.id}
	}
	return asked{operation: s.about.id, object: s.ObjectID}
}

// weighed is what one step writes.
type weighed struct {
	done, failed []string // movements, by the provider's name
	asks         []asked
	agreeing     []uuid.UUID
	finds        []Finding
}

// weighNext weighs one group of movements. Evidence is applied first, each in a
// transaction of its own, so that one that cannot be applied holds up no other: a
// scanner that dies before the step commits finds it told already. The group leaves
// the table with the step; what follows a question to the provider is left to the next
// step, so that each step is one request at most.
func (w *work) weighNext(ctx context.Context) error {
	group, err := w.unweighed(ctx)
	if err != nil {
		return err
	}
	next := w.scan
	var all weighed
	var failure error
	for _, s := range group {
		v := w.weigh(s)
		if err := w.weighOne(ctx, s, v, &next, &all); err != nil {
			failure = err
		}
		if v.first {
			break
		}
	}
	if len(group) == 0 {
		next.Phase = Asking
	}
	err = w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, next *Scan) error { return all.write(ctx, tx, next) })
	if err != nil {
		return err
	}
	return failure // its movements are kept, and the next round comes after a pause
}

func (w *work) weighOne(ctx context.Context, s seen, v weight, next *Scan, all *weighed) error {
	err := w.apply(ctx, s, v, next)
	if err != nil && s.tries+1 < triesMax {
		all.failed = append(all.failed, s.ObjectID)
		return err
	}
	if err != nil {
		w.Log.Error("what a list says could not be applied", zap.Stringer("operation_id", s.about.id), zap.Error(err))
		v.finds, v.asks, v.agrees = Unapplied, false, false
	}
	all.done = append(all.done, s.ObjectID)
	if v.finds != "" {
		all.finds = append(all.finds, s.finding(v.finds))
	}
	if v.asks {
		all.asks = append(all.asks, s.asked())
	}
	if v.first {
		all.asks = append(all.asks, asked{operation: s.about.id})
	}
	if v.agrees {
		all.agreeing = append(all.agreeing, s.about.id)
	}
	return nil
}

func (all weighed) write(ctx context.Context, tx pgx.Tx, next *Scan) error {
	found, err := keep(ctx, tx, next.ProviderAccount, all.finds)
	if err != nil {
		return err
	}
	next.Found += found
	e := explanation{account: next.ProviderAccount, kind: NotListed, reason: reasonListed}
	if err := explainAll(ctx, tx, e, all.agreeing); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, weighedSQL, next.ID, all.done, all.failed,
		postgres.Column(all.asks, func(a asked) uuid.UUID { return a.operation }),
		postgres.Column(all.asks, func(a asked) string { return a.object })); err != nil {
		return fmt.Errorf("writing what was weighed: %w", err)
	}
	return nil
}

func (w *work) unweighed(ctx context.Context) ([]seen, error) {
	rows, err := w.Pool.Query(ctx, unweighedSQL, w.scan.ID, weighMax)
	if err != nil {
		return nil, fmt.Errorf("reading what a list named: %w", err)
	}
	group, err := pgx.CollectRows(rows, scanSeen)
	if err != nil {
		return nil, fmt.Errorf("reading what a list named: %w", err)
	}
	return group, nil
}

func scanSeen(row pgx.CollectableRow) (seen, error) {
	var s seen
	var verdict string
	var minor, ours *int64
	var currency, ourCurrency *money.Currency
	var id, paid *uuid.UUID
	var r referred
	err := row.Scan(&s.ObjectID, &s.Reference, &s.Kind, &verdict, &minor, &currency, &s.CreatedAt, &s.askedAt, &s.tries,
		&id, &paid, &r.account, &r.kind, &r.state, &ours, &ourCurrency, &r.object, &r.known, &r.recipe, &s.told)
	if err != nil {
		return seen{}, err
	}
	if s.Verdict, err = payment.ParseVerdict(verdict); err != nil {
		return seen{}, err
	}
	if s.Amount, err = postgres.Amount(minor, currency); err != nil || id == nil {
		return s, err
	}
	r.id, r.payment = *id, *paid
	s.about = &r
	r.amount, err = postgres.Amount(ours, ourCurrency)
	return s, err
}
