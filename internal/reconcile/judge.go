package reconcile

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/webhook"
	"github.com/payonce/payonce/pkg/payment"
)

// judge decides what to do about an event. Waiting is put back, everything else is
// committed. An error leaves the event to its next taker.
func (e *Events) judge(ctx context.Context, told webhook.Event, notifier provider.Notifier) (settlement, error) {
	is := func(s webhook.State, reason string) (settlement, error) {
		return settlement{Finished: webhook.Finished{Event: told, State: s, Reason: reason}}, nil
	}
	notice, err := notifier.ReadNotice(told.Body)
	id, noReference := uuid.Parse(notice.Reference)
	switch {
	case err != nil:
		return is(webhook.Person, webhook.ReasonUnreadable)
	case notice.Kind == "":
		return is(webhook.Ignored, webhook.ReasonUnknownType)
	case noReference != nil:
		return is(webhook.Ignored, webhook.ReasonForeign)
	case !notice.IsOf(e.Accounts[told.Account].Recipe()):
		return is(webhook.Person, webhook.ReasonOtherAccount)
	}
	about, found, err := operation.LookUp(ctx, e.Pool, id)
	switch {
	case err != nil:
		return settlement{}, err
	case !found && told.TakenAt.Sub(told.ReceivedAt) < MatchPatience:
		return is(webhook.Waiting, webhook.ReasonNoOperation)
	case !found:
		return is(webhook.Person, webhook.ReasonNoOperation)
	case about.ProviderAccount != told.Account:
		// Whoever has one account's secret must not settle another one's payments.
		return is(webhook.Person, webhook.ReasonOtherAccount)
	case about.Kind != notice.Kind:
		return is(webhook.Person, webhook.ReasonOtherKind)
	case !provider.SameAccount(about.Recipe, e.Accounts[told.Account].Recipe()):
		// It was sent to the account that was configured before; as with looks, it
		// waits until that one is configured again.
		return is(webhook.Waiting, webhook.ReasonOtherAccount)
	}
	return e.weigh(ctx, told, notice, about)
}

// weigh decides about an event of an operation that it may speak of. What is final
// is contradicted by the provider's own word only, and never by an event that may
// be older than what we know.
func (e *Events) weigh(ctx context.Context, told webhook.Event, notice provider.Notice, about operation.LookedUp) (settlement, error) {
	s := settlement{
		Finished: webhook.Finished{Event: told, State: webhook.Applied, OperationID: about.OperationID},
		outcome:  wordOf(told, notice, about), speaks: true,
	}
	said := s.outcome.Learned.Verdict
	switch {
	case said == payment.VerdictCaptured:
		return e.believe(ctx, s, notice, about)
	case about.State == payment.OperationCreated && said == payment.VerdictPending:
		return s, nil // it keeps the operation from being sent: the provider may hold it
	case about.Busy:
		s.State, s.Reason = webhook.Waiting, webhook.ReasonBusy
		return s, nil
	}
	s.outcome.Learned = inert(s.outcome.Learned)
	no := said == payment.VerdictDeclined || said == payment.VerdictNotTaken
	switch about.State {
	case payment.OperationPending, payment.OperationUnknown:
		s.look, s.stand, s.owner = true, operation.Stand{OperationID: about.OperationID, Fence: about.Fence}, about.WaitsFor
		return s, nil
	case payment.OperationFailed, payment.OperationCanceled:
		if no {
			return s, nil // the books say so, too
		}
	case payment.OperationSucceeded:
	default:
		return s, nil // it waits to be sent, and a no changes nothing about that
	}
	return e.ask(ctx, s, notice, about)
}

// believe applies a captured, and has the provider asked where its newest word about the
// movement is a no: an event is as old as nobody knows and cannot answer it. The story
// without: a cut confirm is asked about a moment too early and is "not confirmed"; the
// event makes the charge succeed, nobody looks at it any more, and it is never refunded.
//
// What is open is settled before the question, which may go unanswered for hours.
func (e *Events) believe(ctx context.Context, s settlement, notice provider.Notice, about operation.LookedUp) (settlement, error) {
	denied, err := operation.IsDenied(ctx, e.Pool, about.OperationID, notice.ObjectID)
	if l := e.lookAtFinal(about); err != nil || !denied || !l.capabilities().Inquiry.Supported {
		return s, err
	}
	if about.State.Final() {
		return e.askBefore(ctx, s, notice, about)
	}
	if _, err := e.tell(ctx, s.outcome); err != nil {
		return settlement{}, err
	}
	s.speaks = false
	now, found, err := operation.LookUp(ctx, e.Pool, about.OperationID)
	if err != nil || !found || !now.State.Final() {
		return s, err // of another amount: it is looked at, or waits for a person
	}
	return e.ask(ctx, s, notice, now)
}

// askBefore has the provider asked before a captured about what is final is applied, so
// that a rule may adopt the money. Without a plain answer the event's word is applied, once:
// its money stands in a case however long the provider is silent.
func (e *Events) askBefore(ctx context.Context, s settlement, notice provider.Notice, about operation.LookedUp) (settlement, error) {
	heard, err := e.hasHeard(ctx, s.outcome.Learned)
	if err != nil {
		return settlement{}, err
	}
	s.speaks = !heard
	asked, err := e.ask(ctx, s, notice, about)
	if heard || (err == nil && asked.State != webhook.Waiting) {
		return asked, err
	}
	if _, failed := e.tell(ctx, s.outcome); failed != nil {
		return settlement{}, errors.Join(err, failed)
	}
	return asked, err
}

// hasHeard reports that this very word of an event is evidence already. It was asked for
// when the event came.
func (e *Events) hasHeard(ctx context.Context, said evidence.Evidence) (bool, error) {
	var stored map[uuid.UUID][]evidence.Evidence
	err := pgx.BeginFunc(ctx, e.Pool, func(tx pgx.Tx) (err error) {
		stored, err = evidence.ForOperations(ctx, tx, []uuid.UUID{said.OperationID})
		return err
	})
	return slices.ContainsFunc(stored[said.OperationID], func(known evidence.Evidence) bool {
		return known.Source == said.Source && known.Verdict == said.Verdict && known.AskedAt.Equal(said.AskedAt) &&
			known.ProviderObjectID == said.ProviderObjectID
	}), err
}

// wordOf is what the event says, held against what was asked for (B3). It was asked
// for by nobody: received stands for the moment of the question, because the
// provider's own clock may be wrong.
func wordOf(told webhook.Event, notice provider.Notice, about operation.LookedUp) outcome.Outcome {
	hash := sha256.Sum256(told.Body)
	answer := provider.CheckEcho(provider.Operation{Amount: about.Amount}, provider.Answer{
		Verdict: notice.Verdict, Amount: notice.Amount, ObjectID: notice.ObjectID, Reason: notice.Reason, Hash: hash[:],
	})
	return outcome.Outcome{
		PaymentID: about.PaymentID,
		Learned:   outcome.Learned(about.OperationID, evidence.Webhook, answer, told.ReceivedAt),
	}
}

// inert keeps an event's word as evidence that proves nothing: a no or a pending may
// be older than the yes that we know. The story without: a late "declined" of a first
// try comes after a "pending" of the second one, answers it, and a payment that the
// provider holds may be failed.
func inert(said evidence.Evidence) evidence.Evidence {
	if said.Verdict != payment.VerdictUnclear {
		said.Reason = "webhook-" + said.Verdict.String()
	}
	said.Verdict = payment.VerdictUnclear
	return said
}

// ask has the provider say how it stands with an operation that is final here, and
// applies that; a contradiction opens its case. The event waits for a plain answer,
// and for an end: what the provider still works on may yet move money that nobody
// here waits for.
func (e *Events) ask(ctx context.Context, s settlement, notice provider.Notice, about operation.LookedUp) (settlement, error) {
	object := ""
	if about.ProviderObjectID == nil || notice.Verdict == payment.VerdictCaptured {
		// Without an id, "never prepared" would be the answer about the very object
		// that the event is about. A captured may be another one's than the charge's own.
		object = notice.ObjectID
	}
	if l := e.lookAtFinal(about); !l.capabilities().Inquiry.Supported {
		s.State, s.Reason = webhook.Person, webhook.ReasonNoInquiry
		return s, nil
	}
	answer, _, err := e.Ask(ctx, about, object)
	if err != nil {
		return settlement{}, err
	}
	switch answer.Verdict {
	case payment.VerdictUnclear:
		s.State, s.Reason = webhook.Waiting, webhook.ReasonNotAnswered
	case payment.VerdictPending:
		s.State, s.Reason = webhook.Waiting, webhook.ReasonUndecided
	default: // a plain answer, and applied
	}
	return s, nil
}
