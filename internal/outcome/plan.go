package outcome

import (
	"slices"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// plan derives what a rule may do about a contradiction. It moves money only on the
// provider's own word about a movement that it names and has not denied since, and
// when a payment that was not canceled can still take the money, that comes first; so
// does a refund that failed, while the payment has room for it.
func (k *known) plan(kind casework.Kind, e evidence.Evidence, suspended bool) casework.Plan {
	switch {
	case !suspended || !vouches(e) || kind == casework.AmountMismatch || k.denied(e.ProviderObjectID):
		return casework.PlanPerson
	case k.dismissedUnnamed(e.Amount):
		return casework.PlanPerson // who may have sent this very money back by hand
	case kind == casework.CapturedAfterFailed && k.row.State == payment.OperationFailed && e.Amount == k.row.Amount && k.row.FitsPayment():
		return casework.PlanAdopt
	case k.row.RefundReference != nil:
		return casework.PlanPerson // nothing that went out is brought back by a rule
	case kind == casework.CapturedTwice && !k.ownStands():
		return casework.PlanPerson
	}
	return casework.PlanRefund
}

// vouches reports the provider's own word about a movement that it names. Files and
// people may know the same movement by another name.
func vouches(e evidence.Evidence) bool {
	return e.Verdict == payment.VerdictCaptured && e.ProviderObjectID != "" &&
		e.Source != evidence.Settlement && e.Source != evidence.Operator
}

func (k *known) vouched(movement string) bool {
	for _, e := range k.evidence {
		if vouches(e) && e.ProviderObjectID == movement {
			return true
		}
	}
	return false
}

// dismissedUnnamed reports that a person dismissed a case over the amount before its
// movement had a name.
func (k *known) dismissedUnnamed(a money.Amount) bool {
	return slices.ContainsFunc(k.files, func(f *file) bool {
		return f.State == casework.Dismissed && f.Kind != casework.FailedAfterCaptured && f.ProviderObjectID == "" && f.Amount == a
	})
}

// ownStands reports that what the charge succeeded with is surely there, besides
// whatever else was captured: the provider itself vouches for it and has not denied it.
// Without the first, two names could be one movement; without the second, what came
// after it could be the only money that there is.
func (k *known) ownStands() bool {
	own := k.ownMovement()
	doubted := slices.ContainsFunc(k.files, func(f *file) bool {
		return f.Kind == casework.FailedAfterCaptured && !f.State.Closed()
	})
	return k.vouched(own) && !k.denied(own) && !doubted
}

// denied reports that the provider's newest word about a movement is a no (U8). A
// webhook or a file is as old as nobody knows, so that it never speaks last. The
// database's movement_is_denied() holds the same rule.
func (k *known) denied(movement string) bool {
	newest := func(no evidence.Evidence) bool {
		return !slices.ContainsFunc(k.evidence, func(e evidence.Evidence) bool {
			dated := e.Source != evidence.Webhook && e.Source != evidence.Settlement
			return e.Verdict == payment.VerdictCaptured && dated && e.ProviderObjectID == movement && e.AskedAt.After(no.AskedAt)
		})
	}
	return movement != "" && slices.ContainsFunc(k.evidence, func(e evidence.Evidence) bool {
		return saysNo(e) && e.ProviderObjectID == movement && newest(e)
	})
}

// bookable reports an amount that can stand in suspense.
func bookable(a money.Amount) bool {
	_, err := money.ParseCurrency(string(a.Currency()))
	return err == nil && a.Minor() > 0
}

// ownMovement names the provider's movement that a succeeded charge succeeded with:
// the one that its row names, else the first one that was named since. Where the word
// that it succeeded on named none, the row may name another one of its tries; plan
// asks a person then, because nothing vouches for it.
func (k *known) ownMovement() string {
	if k.row.ProviderObjectID != nil {
		return *k.row.ProviderObjectID
	}
	for _, e := range k.evidence {
		if e.Verdict == payment.VerdictCaptured && e.Amount == k.row.Amount && k.fileNamed(e.ProviderObjectID) == nil &&
			e.ProviderObjectID != "" {
			return e.ProviderObjectID
		}
	}
	return ""
}

// denies reports an authoritative word that nothing of a charge that succeeded is
// held: a closed door, or a no that speaks about every attempt and that no later
// word contradicts.
func (k *known) denies(e evidence.Evidence) bool {
	if e.Source == evidence.Closure && e.Verdict == payment.VerdictNotTaken {
		return true
	}
	if e.CoversUntil.IsZero() {
		return false
	}
	for _, a := range k.attempts {
		if !a.NotSent && !covers(e, a) {
			return false
		}
	}
	for _, later := range k.evidence {
		if later.Verdict == payment.VerdictCaptured && !later.AskedAt.Before(e.AskedAt) {
			return false
		}
	}
	return true
}
