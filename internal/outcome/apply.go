package outcome

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// Apply stores what was learned and makes what follows from it true, for any
// number of outcomes, in the caller's transaction. Several outcomes of one
// operation are applied in their order. The result has one entry for each
// outcome, in the same order.
//
// An outcome of an operation that does not exist is an error. So is anything
// that the database refuses; then the caller rolls back, and nothing was learned.
func (p Publisher) Apply(ctx context.Context, tx pgx.Tx, outcomes []Outcome) ([]Applied, error) {
	locked, err := lockAll(ctx, tx, locksOf(outcomes))
	if err != nil {
		return nil, err
	}
	g := group{Publisher: p, locked: locked, outcomes: outcomes, applied: make([]Applied, len(outcomes))}
	for _, round := range rounds(outcomes) {
		if err := g.apply(ctx, tx, round); err != nil {
			return nil, err
		}
	}
	return g.applied, nil
}

// group is the outcomes of one transaction, with what is known about their
// operations and what has become of them.
type group struct {
	Publisher
	locked   map[uuid.UUID]*known
	outcomes []Outcome
	applied  []Applied
}

// locks says what a group needs.
type locks struct {
	operations, payments, mayFail []uuid.UUID
	movements                     []string // that the provider names
}

func locksOf(outcomes []Outcome) locks {
	var l locks
	for _, o := range outcomes {
		l.operations, l.payments = append(l.operations, o.Learned.OperationID), append(l.payments, o.PaymentID)
		if v := o.Learned.Verdict; o.NotSent || v == payment.VerdictDeclined || v == payment.VerdictNotTaken {
			l.mayFail = append(l.mayFail, o.PaymentID)
		}
		for _, word := range o.words() {
			l.movements = append(l.movements, word.ProviderObjectID)
		}
	}
	return l
}

// lockAll takes every lock in the global order (keys, identities of payments
// that could fail, payments, operations) and then reads what is known.
func lockAll(ctx context.Context, tx pgx.Tx, l locks) (map[uuid.UUID]*known, error) {
	if err := idempotency.LockByResource(ctx, tx, slices.Concat(l.payments, l.operations)); err != nil {
		return nil, err
	}
	if err := operation.LockIdentities(ctx, tx, l.mayFail); err != nil {
		return nil, err
	}
	rows, err := operation.Lock(ctx, tx, l.operations)
	if err != nil {
		return nil, err
	}
	others, err := lockOthers(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	byID, err := readKnown(ctx, tx, append(rows, others...))
	if err != nil {
		return nil, err
	}
	return byID, readAnothers(ctx, tx, byID, l.movements)
}

// lockOthers locks the other refunds and voids of the cases that locked ones serve, and
// their charges: a word about one can decide what becomes of them. Their payments are
// held already.
func lockOthers(ctx context.Context, tx pgx.Tx, rows []operation.Locked) ([]operation.Locked, error) {
	var served, others []uuid.UUID
	for _, r := range rows {
		if r.CaseID != nil {
			served = append(served, *r.CaseID)
		}
	}
	if len(served) == 0 {
		return nil, nil
	}
	compensations, err := operation.Compensations(ctx, tx, served)
	if err != nil {
		return nil, err
	}
	for _, of := range compensations {
		for _, c := range of {
			others = append(others, c.OperationID)
		}
	}
	cases, err := casework.OfOperations(ctx, tx, nil, served)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		others = append(others, c.OperationID)
	}
	others = slices.DeleteFunc(others, func(id uuid.UUID) bool {
		return slices.ContainsFunc(rows, func(r operation.Locked) bool { return r.ID == id })
	})
	return operation.Lock(ctx, tx, others)
}

// readKnown reads attempts and evidence once the rows are locked, never before:
// what was read before the lock may be older than what it decides about.
func readKnown(ctx context.Context, tx pgx.Tx, rows []operation.Locked) (map[uuid.UUID]*known, error) {
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	attempts, err := operation.Attempts(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	learned, err := evidence.ForOperations(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]*known, len(rows))
	for _, r := range rows {
		byID[r.ID] = &known{row: r, attempts: attempts[r.ID], evidence: learned[r.ID]}
	}
	return byID, readFiles(ctx, tx, rows, byID)
}

// rounds splits the outcomes' indexes so that no payment is twice in a round: what
// becomes of a refund of a case decides what can become of the charge.
func rounds(outcomes []Outcome) [][]int {
	seen := map[uuid.UUID]int{}
	var split [][]int
	for i, o := range outcomes {
		n := seen[o.PaymentID]
		seen[o.PaymentID]++
		if n == len(split) {
			split = append(split, nil)
		}
		split[n] = append(split[n], i)
	}
	return split
}

// apply decides about one round's outcomes and writes what follows.
func (g *group) apply(ctx context.Context, tx pgx.Tx, round []int) error {
	var w writes
	for _, i := range round {
		o := g.outcomes[i]
		k, ok := g.locked[o.Learned.OperationID]
		if !ok {
			return fmt.Errorf("operation %s: %w", o.Learned.OperationID, ErrNoSuchOperation)
		}
		if k.neverWas(o) {
			g.applied[i] = k.unmoved()
			continue
		}
		if err := w.learn(k, &o); err != nil {
			return err
		}
		var err error
		if g.applied[i], err = g.move(&w, k, o); err != nil {
			return err
		}
	}
	return w.send(ctx, tx)
}

// unmoved is what a word does that is not heard.
func (k *known) unmoved() Applied {
	return Applied{OperationID: k.row.ID, From: k.row.State, To: k.row.State, Fence: k.row.Fence, WaitsFor: k.row.WaitsFor}
}

// move decides about one outcome and collects what it writes.
func (g *group) move(w *writes, k *known, o Outcome) (Applied, error) {
	result := Applied{OperationID: k.row.ID, From: k.row.State}
	standings := decide(*k, o, rand.Float64())
	depth := 0
	if len(standings) > 0 && result.From.Final() && k.row.CaseID != nil {
		if err := g.withdraw(w, k); err != nil {
			return result, err
		}
		depth = 1
	}
	for i, to := range standings {
		after, err := g.collect(w, depth+i, operation.Move{From: k.row, To: to})
		if err != nil {
			return result, err
		}
		k.row = after
		g.share(k)
	}
	steps, about := k.follow(o, result.From)
	if err := w.follow(k, steps); err != nil {
		return result, err
	}
	result.To, result.Fence, result.WaitsFor = k.row.State, k.row.Fence, k.row.WaitsFor
	result.Contradiction = about != nil || o.Learned.Reason == provider.ReasonSeveralCharges
	if about != nil {
		result.CaseID = about.ID
	}
	return result, nil
}

// share lets the other operations of the payment know what its refunds come to now, and
// other refunds which movement is taken.
func (g *group) share(k *known) {
	if k.row.Kind != payment.KindRefund {
		return
	}
	for _, other := range g.locked {
		if k.row.RefundReference != nil && other.row.PaymentID == k.row.PaymentID {
			other.row.Payment.Refunded = k.row.Payment.Refunded
		}
		if other != k && k.row.State == payment.OperationSucceeded && k.row.ProviderObjectID != nil {
			other.bar(k.row.ProviderAccount, *k.row.ProviderObjectID)
		}
	}
}

// withdraw cancels what waits to give back the same money once more, before the one
// that did so succeeds: at most one of a case's may be live.
func (g *group) withdraw(w *writes, k *known) error {
	for _, id := range k.superseded() {
		other := g.locked[id]
		after, err := g.collect(w, 0, operation.Move{From: other.row, To: other.withdrawn()})
		if err != nil {
			return err
		}
		other.row = after
		k.files[0].note(other)
	}
	return nil
}

// collect adds one move and all that must commit with it, and returns the row as it is
// then.
func (p Publisher) collect(w *writes, depth int, m operation.Move) (operation.Locked, error) {
	for len(w.moves) <= depth {
		w.moves = append(w.moves, nil)
	}
	w.moves[depth] = append(w.moves[depth], m)
	after, err := m.After()
	if err != nil || after.State == m.From.State {
		return after, err // an attempt within unknown ended; nothing to tell
	}
	if err := p.tellOf(w, m.From.State, after); err != nil {
		return after, err
	}
	if after.CaseID != nil || !after.State.Final() {
		return after, nil
	}
	if after.State == payment.OperationSucceeded {
		w.book(after)
	}
	answer, err := finalAnswer(after)
	w.answers = append(w.answers, answer)
	return after, err
}

// finalAnswer is what every repeat of the request gets from now on.
func finalAnswer(l operation.Locked) (idempotency.Answer, error) {
	if l.RefundReference != nil {
		body, err := l.RefundView().Encode()
		return idempotency.Answer{ResourceID: l.ID, Status: finalStatus, Body: body}, err
	}
	body, err := l.View().Encode()
	return idempotency.Answer{ResourceID: l.PaymentID, Status: finalStatus, Body: body}, err
}

// tellOf adds a move to the payment's history, with its event.
func (p Publisher) tellOf(w *writes, from payment.OperationState, after operation.Locked) error {
	told, err := p.tell(from, after)
	if err != nil {
		return err
	}
	w.history = append(w.history, told)
	return nil
}

// finalStatus answers every repeat of a request whose payment or refund is final, whatever
// the outcome: 201, the outcome stands in the body's state (I4).
const finalStatus = 201
