package outcome

import (
	"time"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// RetryDelayMin and RetryDelayMax bound how long an operation that was proven
// not sent or not taken waits for its next attempt. The delay doubles with each
// fence and is jittered, so that an outage does not end in a stampede; ten
// minutes keep a payment from being forgotten by its customer.
const (
	RetryDelayMin = 500 * time.Millisecond
	RetryDelayMax = 10 * time.Minute
)

// SoonestCheck is how long the reconciler leaves an operation that has just
// become unknown or pending: a cut answer is usually known at the provider by
// the time that we ask.
const SoonestCheck = 200 * time.Millisecond

// decide returns the standings that the operation goes through because of an
// outcome that was already added to what is known: none, one, or, for late truth
// about an operation that waits to be sent, two. It reads no clock but the row's
// and no chance but the given one, from [0, 1).
func decide(k known, o Outcome, chance float64) []operation.Standing {
	s := k.row.Standing
	if s.State.Final() {
		return k.onFinal(o)
	}
	if found, match := k.captured(); found {
		return k.onCaptured(o, match)
	}
	switch {
	case o.NotSent || o.Learned.Verdict == payment.VerdictDeclined || o.Learned.Verdict == payment.VerdictNotTaken:
		return k.onNo(o, chance)
	case o.Learned.Verdict == payment.VerdictPending:
		return k.onPending(o)
	default:
		return k.onUnclear(o)
	}
}

// onCaptured applies the good news at once, whoever brings it. Another amount
// than ours is news too, but not the one that was asked for: a person decides, and
// gets it back when they had the machine ask once more.
func (k known) onCaptured(o Outcome, match *evidence.Evidence) []operation.Standing {
	unknown := k.unknown(o)
	if match == nil {
		reason := k.unfit()
		if k.row.State == payment.OperationUnknown && k.row.WaitsFor == operation.Person && k.row.Reason != nil && *k.row.Reason == reason {
			return nil // a person knows already
		}
		unknown.Reason, unknown.WaitsFor = &reason, operation.Person
		unknown.NextCheckAt = new(k.row.Now.Add(patience))
		return []operation.Standing{unknown}
	}
	done := k.succeeded(o, *match)
	if k.row.State == payment.OperationCreated {
		done.Fence = unknown.Fence
		return []operation.Standing{unknown, done}
	}
	return []operation.Standing{done}
}

// succeeded is settled by the piece of evidence that names the movement. Without a
// name the movement is at least none that has a case.
func (k known) succeeded(o Outcome, match evidence.Evidence) operation.Standing {
	done := k.settled(payment.OperationSucceeded, "", o)
	if match.ProviderObjectID != "" {
		done.ProviderObjectID = &match.ProviderObjectID
	} else if own := done.ProviderObjectID; own != nil && (k.fileNamed(*own) != nil || k.anothers[*own]) {
		done.ProviderObjectID = nil
	}
	return done
}

// unfit is why what was captured is not what was asked for.
func (k known) unfit() string {
	for _, e := range k.evidence {
		if e.Verdict == payment.VerdictCaptured && e.Amount == k.row.Amount && k.anothers[e.ProviderObjectID] {
			return ReasonAnothersMovement
		}
	}
	return ReasonAmountMismatch
}

// onFinal leaves what is final: late truth about a charge is for its case. A refund
// or void of a case that was given up and did take place is good news for that case,
// unless another one may be under way: see superseded. A charge that succeeded on a word
// without a name is called what the provider calls it since, or it could not be refunded.
func (k known) onFinal(o Outcome) []operation.Standing {
	if own := k.ownMovement(); k.row.Kind == payment.KindCharge && k.row.State == payment.OperationSucceeded &&
		k.row.ProviderObjectID == nil && k.vouched(own) && !k.denied(own) {
		to := k.row.Standing
		to.ProviderObjectID = &own
		return []operation.Standing{to}
	}
	_, match := k.captured()
	if k.row.CaseID == nil || k.row.State == payment.OperationSucceeded || match == nil ||
		len(k.files) == 0 || k.files[0].State.Closed() {
		return nil
	}
	for _, c := range k.files[0].compensations {
		if c.OperationID != k.row.ID && c.Live() && !c.Withdrawable {
			return nil
		}
	}
	return []operation.Standing{k.succeeded(o, *match)}
}

// patience is how long a person has before the operation shows up again.
const patience = time.Hour

func (k known) onPending(o Outcome) []operation.Standing {
	if k.row.State == payment.OperationCreated {
		if !k.providerMayHold() {
			return nil // a later no has answered it
		}
		return []operation.Standing{k.unknown(o)}
	}
	if k.row.State == payment.OperationPending {
		return nil // the next look stands already
	}
	to := k.open(payment.OperationPending, o)
	to.Reason = o.reason()
	return []operation.Standing{to}
}

// onUnclear leaves what may have been sent as unknown. Only the attempt that is
// under way changes anything: an older one that learned nothing is over.
func (k known) onUnclear(o Outcome) []operation.Standing {
	if !k.endsLease(o) {
		return nil
	}
	return []operation.Standing{k.unknown(o)}
}

// onNo covers the attempt that was answered, and settles the operation only when
// that leaves no attempt uncovered.
func (k known) onNo(o Outcome, chance float64) []operation.Standing {
	switch {
	case k.row.State == payment.OperationCreated:
		return nil // it waits to be sent, and this changes nothing about that
	case k.row.LeaseUntil != nil && !k.endsLease(o):
		return nil // another attempt is under way: nothing is settled under its hands
	case !k.covered() || k.providerStillHolds():
		return k.stillOpen(o, chance)
	}
	if reason, declined := k.declineReason(); declined {
		return []operation.Standing{k.settled(payment.OperationFailed, reason, o)}
	}
	switch {
	case o.NotSent || o.Learned.Source == evidence.Answer:
		return k.onOwnNo(o, chance)
	case k.row.State == payment.OperationPending:
		return []operation.Standing{k.unknown(o)} // the provider no longer knows what it had taken
	case o.Settle:
		return []operation.Standing{k.settled(payment.OperationFailed, k.notTakenReason(), o)}
	}
	return nil
}

// onOwnNo follows an attempt that says itself that it was not sent or not taken, once
// every attempt is covered.
func (k known) onOwnNo(o Outcome, chance float64) []operation.Standing {
	if !k.allSpokeForThemselves() || k.closing() || k.row.State == payment.OperationPending || k.providerMayHold() {
		return k.stillOpen(o, chance)
	}
	if k.row.Kind != payment.KindCharge && o.hopeless() {
		return k.giveUp(o, chance)
	}
	return k.backToCreated(o, chance)
}

// stillOpen ends the attempt under way without a result. The next look, and with
// it the next resend, comes later with each attempt, and not before the provider
// wants it.
func (k known) stillOpen(o Outcome, chance float64) []operation.Standing {
	if !k.endsLease(o) {
		return nil
	}
	to := k.unknown(o)
	to.NextCheckAt = new(k.row.Now.Add(k.retryAfter(o, chance)))
	return []operation.Standing{to}
}

func (k known) retryAfter(o Outcome, chance float64) time.Duration {
	return max(o.RetryAfter, retryDelay(len(k.attempts), chance))
}

// backToCreated lets an operation be sent again whose last attempt itself says
// that it was not sent or not taken, when nothing else is open.
func (k known) backToCreated(o Outcome, chance float64) []operation.Standing {
	to := operation.Standing{
		State: payment.OperationCreated, Reason: o.reason(), Fence: k.fenceAfter(o), WaitsFor: operation.Machine,
		NextAttemptAt: new(k.row.Now.Add(k.retryAfter(o, chance))), ProviderObjectID: k.objectID(o),
	}
	if to.Reason == nil {
		to.Reason = new(ReasonRetrying)
	}
	if o.hopeless() {
		to.WaitsFor, to.NextAttemptAt, to.NextCheckAt = operation.Person, nil, new(k.row.Now.Add(patience))
	}
	return []operation.Standing{to}
}

// hopeless reports that trying again would say the same for ever.
func (o Outcome) hopeless() bool {
	return o.Learned.Reason == provider.ReasonInvalidOperation || o.Learned.Reason == provider.ReasonUnsupported
}

// giveUp fails a refund or void that cannot be sent, so that a person may decide about
// its case, and a merchant learns it. Where a late copy of an earlier attempt could still be taken,
// the provider is asked first.
func (k known) giveUp(o Outcome, chance float64) []operation.Standing {
	if !k.closed() {
		return k.stillOpen(o, chance)
	}
	return []operation.Standing{k.settled(payment.OperationFailed, o.Learned.Reason, o)}
}

func (k known) notTakenReason() string {
	if k.row.ChargeBefore != nil && !k.row.Now.Before(*k.row.ChargeBefore) {
		return ReasonExpired
	}
	return ReasonNotTaken
}

// ownsFence reports whether the outcome is the answer to the attempt that the
// operation's fence belongs to.
func (k known) ownsFence(o Outcome) bool {
	return o.Learned.Fence != 0 && o.Learned.Fence == k.row.Fence
}

// endsLease reports whether the outcome is the answer to the attempt that is
// under way, so that nothing of the operation is in flight after it.
func (k known) endsLease(o Outcome) bool {
	return k.row.LeaseUntil != nil && k.ownsFence(o)
}

// fenceAfter keeps the fence for the answer that owns it and raises it for
// everyone else, so that a worker which still holds the old one is stale.
func (k known) fenceAfter(o Outcome) int64 {
	if k.ownsFence(o) {
		return k.row.Fence
	}
	return k.row.Fence + 1
}

func (k known) unknown(o Outcome) operation.Standing {
	to := k.open(payment.OperationUnknown, o)
	to.Reason = o.reason()
	return to
}

// open is a standing that the reconciler looks at next.
func (k known) open(state payment.OperationState, o Outcome) operation.Standing {
	since := k.row.OpenSince
	if since == nil {
		since = new(k.row.Now)
	}
	return operation.Standing{
		State: state, Fence: k.fenceAfter(o), NextCheckAt: new(k.row.Now.Add(SoonestCheck)), Checks: k.row.Checks,
		OpenSince: since, WaitsFor: operation.Machine, ProviderObjectID: k.objectID(o),
	}
}

func (k known) settled(state payment.OperationState, reason string, o Outcome) operation.Standing {
	to := operation.Standing{
		State: state, Fence: k.fenceAfter(o), Checks: k.row.Checks, OpenSince: k.row.OpenSince,
		WaitsFor: operation.Machine, ProviderObjectID: k.objectID(o),
	}
	if reason != "" {
		to.Reason = &reason
	}
	return to
}

// objectID is the first one that was learned, and stays: it may be what we prepared
// and confirmed, and no other object tells what became of that. Only a success, which
// a movement was found for, is named after what it was found by.
func (k known) objectID(o Outcome) *string {
	if k.row.ProviderObjectID != nil || o.Learned.ProviderObjectID == "" {
		return k.row.ProviderObjectID
	}
	return &o.Learned.ProviderObjectID
}

func (o Outcome) reason() *string {
	if o.Learned.Reason == "" {
		return nil
	}
	return &o.Learned.Reason
}

func retryDelay(attempts int, chance float64) time.Duration {
	return provider.Backoff(RetryDelayMin, RetryDelayMax, attempts, chance)
}
