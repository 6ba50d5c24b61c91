package reconcile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// look does the derived step for one operation.
func (r *Reconciler) look(ctx context.Context, c operation.Check) error {
	l := look{Reconciler: r, check: c, connector: r.Accounts[c.ProviderAccount], stand: operation.Stand{OperationID: c.OperationID, Fence: c.Fence}}
	if c.WaitsFor == operation.Person {
		r.Log.Warn("operation waits for a person", zap.Stringer("operation_id", c.OperationID), zap.Time("open_since", c.OpenSince))
		return l.again(ctx, operation.PersonInterval, operation.Person)
	}
	if !provider.SameAccount(c.Recipe, l.connector.Recipe()) {
		// What was sent to one account is not known at another: "not found" would be
		// true there, and a closed door would shut nothing.
		if c.Lost && provider.NamesAccountOnly(c.Recipe) {
			return l.contradicted(ctx)
		}
		r.Log.Error("operation was sent to another account at the provider; it waits until that one is configured again",
			zap.Stringer("operation_id", c.OperationID), zap.String("provider_account", c.ProviderAccount), zap.String("reason", provider.ReasonOtherAccount))
		return l.again(ctx, l.schedule(), operation.Machine)
	}
	if c.State == payment.OperationPending {
		return l.pending(ctx)
	}
	return l.unknown(ctx)
}

type look struct {
	*Reconciler
	check     operation.Check
	connector provider.Connector
	stand     operation.Stand
}

// contradicted hands over what was lost and is taken to have gone to another account
// than the configured one. That is a guess by its neighbours: which of the two is right
// only a person can find out, who asks both.
func (l *look) contradicted(ctx context.Context) error {
	l.Log.Error("attempts were lost, and others of that time went to another account at the provider than the configured one: a person has to ask both",
		zap.Stringer("operation_id", l.check.OperationID), zap.String("provider_account", l.check.ProviderAccount),
		zap.String("reason", provider.ReasonOtherAccount))
	_, err := operation.HandToPerson(ctx, l.Pool, l.stand, provider.ReasonOtherAccount)
	return err
}

// pending asks how it went. The provider has the operation, so there is nothing
// to resend and no door to close.
func (l *look) pending(ctx context.Context) error {
	if !l.capabilities().Inquiry.Supported {
		return l.again(ctx, operation.PersonInterval, operation.Person)
	}
	open, _, err := l.inquire(ctx)
	if err != nil || !open {
		return err
	}
	return l.again(ctx, l.schedule(), operation.Machine)
}

// unknown asks first and then does what the answer leaves as the next step.
func (l *look) unknown(ctx context.Context) error {
	step := provider.Next(l.capabilities(), l.situation())
	if step == provider.StepInquire || step == provider.StepSettleNotTaken {
		open, next, err := l.inquire(ctx)
		if err != nil || !open {
			return err
		}
		step = next
	}
	switch step {
	case provider.StepResend:
		ordered, err := operation.OrderResend(ctx, l.Pool, l.stand)
		if ordered {
			l.Log.Info("resend ordered", zap.Stringer("operation_id", l.check.OperationID), zap.Int64("fence", l.stand.Fence))
		}
		return err
	case provider.StepCloseDoor:
		return l.closeDoor(ctx)
	case provider.StepInquire, provider.StepSettleNotTaken:
		return l.again(ctx, l.schedule(), operation.Machine)
	case provider.StepWait:
	}
	if until := l.check.LastPossibleSend.Sub(l.check.AskedAt); until > 0 {
		return l.again(ctx, until, operation.Machine) // a resend may be due then
	}
	return l.again(ctx, operation.PersonInterval, operation.Person)
}

// inquire asks by our reference and applies what it learns. It returns whether
// the operation is still open, and the step that the answer leads to.
func (l *look) inquire(ctx context.Context) (open bool, next provider.Step, err error) {
	capabilities := l.capabilities()
	answer := l.connector.Inquire(ctx, l.request())
	if answer.Err != nil {
		l.Log.Info("inquiry brought no plain answer", zap.Stringer("operation_id", l.check.OperationID),
			zap.String("reason", answer.Reason), zap.Error(answer.Err))
	}
	situation := l.situation()
	if answer.Verdict == payment.VerdictNotTaken {
		situation.NotFoundAskedAt = l.check.AskedAt
	}
	next = provider.Next(capabilities, situation)
	o := l.learned(evidence.Inquiry, answer)
	o.Settle = next == provider.StepSettleNotTaken && l.check.State == payment.OperationUnknown
	if l.covers(answer) {
		o.Learned.CoversUntil = l.check.AskedAt.Add(-capabilities.Inquiry.Grace)
	}
	open, err = l.apply(ctx, o)
	if err == nil && open && l.nothingLeft(answer) {
		return false, next, l.inDoubt(ctx)
	}
	return open, next, err
}

// nothingLeft reports whether the provider says no about an object that what was lost
// may not have acted on, and no resend under the key can tell any more.
func (l *look) nothingLeft(a provider.Answer) bool {
	no := a.Verdict == payment.VerdictNotTaken || a.Verdict == payment.VerdictDeclined
	if !no || !l.objectInDoubt() || l.check.AskedAt.Before(l.check.LastPossibleSend) {
		return false
	}
	byKey := l.capabilities()
	byKey.Inquiry = provider.Inquiry{}
	return l.check.State == payment.OperationPending || provider.Next(byKey, l.situation()) == provider.StepWait
}

// inDoubt hands over a charge that the provider truthfully denies, under the only id
// that we know. A person can search the provider for our reference, and finds all.
func (l *look) inDoubt(ctx context.Context) error {
	l.Log.Error("attempts were lost, and may have charged by another object than the one that is known: a person has to search the provider for the reference",
		zap.Stringer("operation_id", l.check.OperationID), zap.String("provider_account", l.check.ProviderAccount),
		zap.String("reason", outcome.ReasonObjectInDoubt))
	_, err := operation.HandToPerson(ctx, l.Pool, l.stand, outcome.ReasonObjectInDoubt)
	return err
}

// closeDoor has the provider void by our reference, seen or unseen, so that no
// late copy can be taken, and lets the operation fail. It only follows a "not
// found" that counts. What the provider captured in spite of that is voided by
// the same request and moves no money in the end.
//
// That it is about to be asked is committed first, under the operation's lock. The
// story without: a worker tells late that its attempt was never sent, the operation
// goes back to created and is charged, and then our void arrives and takes the
// charge back, while everyone was told that it was captured.
func (l *look) closeDoor(ctx context.Context) error {
	begun, err := l.Applier.Do(ctx, l.learned(evidence.Closure, provider.Answer{Reason: outcome.ReasonClosing}))
	if err != nil || begun.To != payment.OperationUnknown || begun.Fence != l.stand.Fence {
		return err // it moved meanwhile, and needs another look or none
	}
	answer := l.connector.CloseDoor(ctx, l.request())
	o := l.learned(evidence.Closure, answer)
	o.Settle = true
	if answer.Verdict == payment.VerdictNotTaken {
		// The door was shut after the question was asked: whatever was sent before
		// is void, whatever arrives later is refused.
		o.Learned.CoversUntil = l.check.AskedAt
	}
	open, err := l.apply(ctx, o)
	if err != nil || !open {
		return err
	}
	return l.again(ctx, l.schedule(), operation.Machine)
}

// apply returns whether the operation is open as before, and the machine's. What the
// answer handed to a person is not taken back by the step that would follow.
func (l *look) apply(ctx context.Context, o outcome.Outcome) (open bool, err error) {
	applied, err := l.tell(ctx, o)
	if err != nil {
		return false, fmt.Errorf("applying what %s said: %w", l.check.ProviderAccount, err)
	}
	l.stand.Fence = applied.Fence
	return !applied.To.Final() && applied.To == l.check.State && applied.WaitsFor == operation.Machine, nil
}

// again sets the next look.
func (l *look) again(ctx context.Context, after time.Duration, owner operation.Owner) error {
	_, err := operation.LookAgain(ctx, l.Pool, l.stand, after, owner)
	return err
}

// schedule grows with the operation's age. An operation whose "not found" does
// not count yet is looked at as soon as it does.
func (l *look) schedule() time.Duration {
	next := provider.NextCheck(l.check.AskedAt.Sub(l.check.OpenSince), rand.Float64())
	counts := l.check.LastPossibleSend.Add(l.connector.Capabilities().Inquiry.Grace).Sub(l.check.AskedAt)
	if counts > 0 && counts < next {
		return counts + time.Millisecond // not before: the database rounds to microseconds
	}
	return next
}

// capabilities are the provider's, without its keys where a resend would not have
// the first attempt's bytes (the connector's recipe has changed since, or nothing
// was ever sent from here), and where the door is being closed. An order to resend
// would only be withdrawn again. An attempt that was lost is resent by our recipe, at
// the account that it was sent to; where nothing remembers that account a person has
// to, because another one would truthfully know of nothing.
//
// Where the object of a prepared charge may have been lost, the provider cannot be
// asked: without an id the answer would be that nothing was ever prepared. The key
// still finds it. An id that was stored since can be asked about, and good news is
// good; a no about it is none about what was lost, and closing its door closes no other.
//
// Only a charge has a door: what a refund or void acts on is named by the charge.
func (l *look) capabilities() provider.Capabilities {
	c := l.connector.Capabilities()
	known := l.check.Recipe == l.connector.Recipe() || (l.check.Lost && provider.NamesAccountOnly(l.check.Recipe))
	if l.check.Closing || !known {
		c.Key = provider.Key{}
	}
	nowhere := l.check.Lost && l.check.Recipe == ""
	switch {
	case nowhere || (l.objectInDoubt() && l.check.ProviderObjectID == nil):
		c.Inquiry, c.VoidByReference = provider.Inquiry{}, false
	case l.objectInDoubt():
		c.Inquiry.NotFoundAuthoritative, c.VoidByReference = false, false
	}
	if l.check.Kind != payment.KindCharge {
		c.VoidByReference = false
	}
	return c
}

// objectInDoubt reports whether what was lost may have acted on another object than the
// one that is stored, if any is. The story without: a release made pi_1 under a prepare
// key of its own and charged it, and that is lost; the next release's resend makes pi_2,
// whose confirm the key refuses; Stripe truthfully says that nobody confirmed pi_2, the
// payment fails, its invoice is free, and the customer is charged again.
func (l *look) objectInDoubt() bool {
	return l.check.ObjectInDoubt && l.check.Kind == payment.KindCharge && l.connector.Capabilities().Prepares
}

func (l *look) situation() provider.Situation {
	s := provider.Situation{
		Now: l.check.AskedAt, FirstPossibleSend: l.check.FirstPossibleSend, LastPossibleSend: l.check.LastPossibleSend,
		DoorClosed: l.check.DoorClosedAt != nil,
	}
	if l.check.NotFoundAskedAt != nil {
		s.NotFoundAskedAt = *l.check.NotFoundAskedAt
	}
	if l.check.ChargeBefore != nil {
		s.ChargeBefore = *l.check.ChargeBefore
	}
	return s
}

func (l *look) request() provider.Operation {
	return provider.NewOperation(l.check.OperationID, l.check.Kind, l.check.Amount, l.check.ProviderObjectID)
}

func (l *look) learned(source evidence.Source, a provider.Answer) outcome.Outcome {
	return outcome.Outcome{
		PaymentID: l.check.PaymentID, Learned: outcome.Learned(l.check.OperationID, source, a, l.check.AskedAt), Others: a.Others,
	}
}

// covers reports whether a no speaks for every send that was over, grace included,
// when the question was asked. "Not found" does where the provider declares it. A
// decline needs no such declaration: it is a word about our movement, as long as
// there is only one that it can be about. That is one send, or several with a key
// whose first result the provider keeps. An attempt that stands for what was lost
// stands for any number of sends. No no about an object in doubt speaks for what was lost.
func (l *look) covers(a provider.Answer) bool {
	if l.objectInDoubt() {
		return false
	}
	declared := l.connector.Capabilities()
	switch a.Verdict {
	case payment.VerdictNotTaken:
		return declared.Inquiry.NotFoundAuthoritative
	case payment.VerdictDeclined:
		return declared.Inquiry.NotFoundAuthoritative || (l.check.Sends <= 1 && !l.check.Lost) || declared.Key.LaterDeclineCovers()
	default:
		return false
	}
}
