package outcome

import (
	"cmp"
	"slices"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// known is all that is stored about one operation, the newest evidence included.
type known struct {
	row      operation.Locked
	attempts []operation.PastAttempt
	evidence []evidence.Evidence
	// files are the cases about a charge, or the one that a compensation serves. The
	// operations of one payment share them.
	files []*file
	// charge is what a compensation's case is about; nil of everything else.
	charge *known
	// anothers are the movements that a refund cannot have made: its charge's own, and those
	// of refunds that succeeded.
	anothers map[string]bool
}

// bar keeps a refund at the account from succeeding with a movement.
func (k *known) bar(account, movement string) {
	if k.row.Kind != payment.KindRefund || k.row.ProviderAccount != account {
		return
	}
	if k.anothers == nil {
		k.anothers = map[string]bool{}
	}
	k.anothers[movement] = true
}

// covered reports whether every attempt is proven not to move money any more.
// It is true without attempts.
func (k known) covered() bool {
	for _, a := range k.attempts {
		if !a.NotSent && !k.answeredNo(a) {
			return false
		}
	}
	return true
}

func (k known) answeredNo(a operation.PastAttempt) bool {
	for _, e := range k.evidence {
		if covers(e, a) {
			return true
		}
	}
	return false
}

// covers reports whether one piece of evidence proves that an attempt moves no
// money. See "Cover" in docs/DESIGN.md; the database's uncovered_attempts()
// holds the same rule.
func covers(e evidence.Evidence, a operation.PastAttempt) bool {
	switch {
	case !saysNo(e):
		return false
	case e.Source == evidence.Answer:
		return e.Fence == a.Fence || (e.CoversEarlier && e.Fence > a.Fence)
	case e.CoversUntil.IsZero():
		return false
	default:
		return !e.CoversUntil.Before(a.LastPossibleSend)
	}
}

// closed reports whether no attempt can come back even if the provider sees a
// late copy of it: never sent, finally declined, or the door closed after it.
func (k known) closed() bool {
	for _, a := range k.attempts {
		if a.NotSent {
			continue
		}
		shut := false
		for _, e := range k.evidence {
			final := e.Verdict == payment.VerdictDeclined && e.Source == evidence.Answer
			door := e.Verdict == payment.VerdictNotTaken && e.Source == evidence.Closure
			shut = shut || ((final || door) && covers(e, a))
		}
		if !shut {
			return false
		}
	}
	return true
}

// allSpokeForThemselves reports whether each attempt is over by its own trace or
// its own answer. One that only an inquiry covers keeps the operation with the
// reconciler: what may be done then is bounded by the key's horizon.
func (k known) allSpokeForThemselves() bool {
	for _, a := range k.attempts {
		own := func(e evidence.Evidence) bool { return e.Source == evidence.Answer && covers(e, a) }
		if !a.NotSent && !slices.ContainsFunc(k.evidence, own) {
			return false
		}
	}
	return true
}

// closing reports whether the provider was, or may have been, asked to refuse our
// reference. A charge that is sent after that would be voided under our hands.
func (k known) closing() bool {
	return slices.ContainsFunc(k.evidence, func(e evidence.Evidence) bool { return e.Source == evidence.Closure })
}

// captured returns whether evidence says that this operation's movement took place,
// and the oldest piece that says so of what we asked for. What is undone is not there
// any more, and what is being given back is not what we asked for.
func (k known) captured() (found bool, match *evidence.Evidence) {
	for i, e := range k.evidence {
		if e.Verdict != payment.VerdictCaptured {
			continue
		}
		if e.Amount == k.row.Amount && !k.beingUndone(e) && !k.anothers[e.ProviderObjectID] {
			return true, &k.evidence[i]
		}
		found = found || !k.undone(e)
	}
	return found, nil
}

// declineReason returns the newest decline's reason among what covers attempts,
// and whether there is such a decline at all. One that covers nothing, such as a
// webhook's, settles nothing either.
func (k known) declineReason() (string, bool) {
	for _, e := range slices.Backward(k.evidence) {
		if e.Verdict == payment.VerdictDeclined && k.coversAny(e) {
			return cmp.Or(e.Reason, ReasonDeclined), true
		}
	}
	return "", false
}

func (k known) coversAny(e evidence.Evidence) bool {
	return slices.ContainsFunc(k.attempts, func(a operation.PastAttempt) bool { return covers(e, a) })
}

// providerMayHold reports captured evidence, or pending evidence that no later no
// has answered: such an operation is not sent again. The database's provider_may_hold()
// holds the same rule.
func (k known) providerMayHold() bool {
	return k.anyHeld(func(evidence.Evidence) bool { return true })
}

// providerStillHolds leaves out what is undone, as the database's
// provider_still_holds() does: without anything else an operation may fail.
func (k known) providerStillHolds() bool {
	return k.anyHeld(func(e evidence.Evidence) bool { return !k.undone(e) })
}

func (k known) anyHeld(counts func(evidence.Evidence) bool) bool {
	for _, e := range k.evidence {
		if (e.Verdict == payment.VerdictCaptured && counts(e)) || (e.Verdict == payment.VerdictPending && !k.deniedAfter(e)) {
			return true
		}
	}
	return false
}

func (k known) deniedAfter(p evidence.Evidence) bool {
	for _, e := range k.evidence {
		if saysNo(e) && e.AskedAt.After(p.AskedAt) {
			return true
		}
	}
	return false
}

func saysNo(e evidence.Evidence) bool {
	return e.Verdict == payment.VerdictDeclined || e.Verdict == payment.VerdictNotTaken
}
