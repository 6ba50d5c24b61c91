package drift

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/outcome"
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
	asks   bool             // the operation is final, and the provider may still hold money for it
	agrees bool             // the list says captured, as the books do
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
	case s.told:
		return weight{agrees: s.about.state == payment.OperationSucceeded}
	case s.Verdict == payment.VerdictCaptured && s.Amount.IsZero():
		return weight{finds: Unreadable}
	case s.Verdict == payment.VerdictCaptured:
		return weight{tells: s.word(), agrees: true}
	}
	switch s.about.state {
	case payment.OperationFailed, payment.OperationCanceled:
		return weight{asks: true}
	case payment.OperationCreated:
		if word := s.word(); word.Learned.Verdict == payment.VerdictPending {
			return weight{tells: word} // it keeps the operation from being sent: the provider may hold it
		}
	default: // the reconciler looks at what is open, and the books' side at what succeeded
	}
	return weight{}
}

// word is what the entry says, held against what was asked for (B3). Its hash is over
// the entry, because no page is kept.
func (s seen) word() *outcome.Outcome {
	entry := fmt.Sprintf("%q %q %q %s %d %q %d", s.ObjectID, s.Reference, s.Kind, s.Verdict, s.Amount.Minor(), s.Amount.Currency(),
		s.CreatedAt.UnixNano())
	hash := sha256.Sum256([]byte(entry))
	answer := provider.CheckEcho(provider.Operation{Amount: s.about.amount}, provider.Answer{
		Verdict: s.Verdict, Amount: s.Amount, ObjectID: s.ObjectID, Hash: hash[:],
	})
	return &outcome.Outcome{PaymentID: s.about.payment, Learned: outcome.Learned(s.about.id, evidence.List, answer, s.askedAt)}
}

// weighed is what one step writes.
type weighed struct {
	done, failed []string // movements, by the provider's name
	asks         []uuid.UUID
	agreeing     []uuid.UUID
	finds        []Finding
}

// weighNext weighs one group of movements. Evidence is applied first, each in a
// transaction of its own, so that one that cannot be applied holds up no other: a
// scanner that dies before the step commits finds it told already. The group leaves
// the table with the step.
func (w *work) weighNext(ctx context.Context) error {
	group, err := w.unweighed(ctx)
	if err != nil {
		return err
	}
	next := w.scan
	var all weighed
	var failure error
	for _, s := range group {
		if err := w.weighOne(ctx, s, &next, &all); err != nil {
			failure = err
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

func (w *work) weighOne(ctx context.Context, s seen, next *Scan, all *weighed) error {
	v := w.weigh(s)
	if v.tells != nil {
		err := w.tell(ctx, *v.tells)
		if err != nil && s.tries+1 < triesMax {
			all.failed = append(all.failed, s.ObjectID)
			return err
		}
		if err != nil {
			w.Log.Error("what a list says could not be applied", zap.Stringer("operation_id", s.about.id), zap.Error(err))
			v = weight{finds: Unapplied}
		} else {
			next.Told++
		}
	}
	all.done = append(all.done, s.ObjectID)
	if v.finds != "" {
		all.finds = append(all.finds, s.finding(v.finds))
	}
	if v.asks {
		all.asks = append(all.asks, s.about.id)
	}
	if v.agrees {
		all.agreeing = append(all.agreeing, s.about.id)
	}
	return nil
}

func (w *work) tell(ctx context.Context, o outcome.Outcome) error {
	applied, err := w.Applier.Do(ctx, o)
	if err != nil {
		return fmt.Errorf("applying what the list of %s says about operation %s: %w", w.scan.ProviderAccount, o.Learned.OperationID, err)
	}
	fields := []zap.Field{zap.Stringer("operation_id", applied.OperationID), zap.String("from", string(applied.From)), zap.String("to", string(applied.To))}
	if applied.Contradiction {
		w.Log.Error(outcome.ContradictionMessage, append(fields, zap.Stringer("case_id", applied.CaseID))...)
		return nil
	}
	w.Log.Info("a list told what nobody here knew", fields...)
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
	if _, err := tx.Exec(ctx, weighedSQL, next.ID, all.done, all.failed, all.asks); err != nil {
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
		&id, &paid, &r.account, &r.kind, &r.state, &ours, &ourCurrency, &r.recipe, &s.told)
	if err != nil {
		return seen{}, err
	}
	if s.Verdict, err = payment.ParseVerdict(verdict); err != nil {
		return seen{}, err
	}
	if s.Amount, err = amountOf(minor, currency); err != nil || id == nil {
		return s, err
	}
	r.id, r.payment = *id, *paid
	s.about = &r
	r.amount, err = amountOf(ours, ourCurrency)
	return s, err
}

// amountOf is zero where no money is named.
func amountOf(minor *int64, currency *money.Currency) (money.Amount, error) {
	if minor == nil || currency == nil {
		return money.Amount{}, nil
	}
	return money.New(*minor, *currency)
}
