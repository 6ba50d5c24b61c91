package accept

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/payment"
)

// settleRepeats gives each repeat what its key stands for now. It returns those
// whose key stands for nothing any more, because the first one was refused, and
// which are not refused for the same reason.
func (r Rules) settleRepeats(firsts, repeats []*candidate) ([]*candidate, error) {
	byKey := make(map[idempotency.Scope]*candidate, len(firsts))
	for _, first := range firsts {
		byKey[first.entry.Scope] = first
	}
	var pending []*candidate
	undecided := map[idempotency.Scope]bool{} // what comes behind one that is pending is, too
	for _, c := range repeats {
		first := byKey[c.entry.Scope]
		if !first.refused() {
			c.record = first.record
			continue
		}
		same, err := r.sharesRefusal(first, c)
		if err != nil {
			return nil, err
		}
		if same && !undecided[c.entry.Scope] {
			c.result = first.result
		} else {
			undecided[c.entry.Scope] = true
			pending = append(pending, c)
		}
	}
	return pending, nil
}

// sharesRefusal reports whether a repeat would be refused as the first one was: it asks
// for the same, and what the request itself does not say is no different either. A
// command that waited in a topic for days can meet one that was sent just now.
func (r Rules) sharesRefusal(first, repeat *candidate) (bool, error) {
	asked, err := first.entry.Request.Fingerprint()
	if err != nil {
		return false, err
	}
	again, err := repeat.entry.Request.Fingerprint()
	if err != nil {
		return false, err
	}
	if asked != again || first.barred() != repeat.barred() || first.request.providerAccount != repeat.request.providerAccount {
		return false, nil
	}
	return first.result.Outcome != OutcomeExpired || r.expired(repeat, first.record.ReservedAt), nil
}

// show completes the results with what the database holds.
func show(ctx context.Context, tx pgx.Tx, candidates []*candidate) error {
	if err := showHolders(ctx, tx, candidates); err != nil {
		return err
	}
	var shown []*candidate
	for _, c := range candidates {
		if c.result.Outcome == 0 {
			if err := c.judge(); err != nil {
				return err
			}
		}
		if c.result.PaymentID != uuid.Nil && c.result.Answer == nil {
			shown = append(shown, c)
		}
	}
	if err := showPayments(ctx, tx, shown); err != nil {
		return err
	}
	return showLateAnswers(ctx, tx, shown)
}

// judge compares the request with the one that its key stands for.
func (c *candidate) judge() error {
	differing, err := c.record.Differences(c.entry.Request)
	switch {
	case err != nil:
		return err
	case len(differing) > 0:
		c.result = Result{Outcome: OutcomeMismatched, Differing: differing}
	default:
		c.result = Result{Outcome: OutcomeReplayed, PaymentID: c.record.ResourceID}
		c.answer()
	}
	return nil
}

// answer takes over the stored answer, when there is one.
func (c *candidate) answer() {
	if c.record.Answered() {
		c.result.Answer = &Answer{Status: c.record.Status, Body: c.record.Body}
	}
}

// showPayments reads the payments as they stand now.
func showPayments(ctx context.Context, tx pgx.Tx, shown []*candidate) error {
	if len(shown) == 0 {
		return nil
	}
	views, err := operation.ViewsOf(ctx, tx, postgres.Column(shown, func(c *candidate) operation.Owned {
		return operation.Owned{PaymentID: c.result.PaymentID, MerchantID: c.request.merchantID}
	}))
	if err != nil {
		return err
	}
	for _, c := range shown {
		view, found := views[c.result.PaymentID]
		if !found {
			return fmt.Errorf("payment %s has a key or an identity and cannot be found", c.result.PaymentID)
		}
		c.result.Payment = view
		if c.result.Outcome == OutcomeConflicting {
			// Read a moment later than the identity. Without this look: it failed in
			// between, and the client hears that a failed payment stands in the way.
			if view.State.Final() && view.State != payment.StateCaptured {
				return fmt.Errorf("payment %s let go of what it held: %w", view.ID, operation.ErrNotHeld)
			}
			c.result.Holds = c.held(view)
		}
	}
	return nil
}

// held names the field of the request that another payment holds.
func (c *candidate) held(by payment.View) string {
	if by.InvoiceID == c.request.invoiceID && by.PaymentType == c.request.paymentType {
		return FieldInvoiceID
	}
	return FieldExternalReference
}

// showLateAnswers reads keys again whose payment became final between two
// statements: the key was read as open, then an outcome committed, then the
// payment was read as final. The outcome stored the answer in the same commit,
// and a final payment's answer is that one, byte for byte.
func showLateAnswers(ctx context.Context, tx pgx.Tx, shown []*candidate) error {
	late := filter(shown, func(c *candidate) bool {
		return c.result.Outcome == OutcomeReplayed && c.result.Payment.State.Final()
	})
	if len(late) == 0 {
		return nil
	}
	records, err := idempotency.Read(ctx, tx, entries(late))
	if err != nil {
		return err
	}
	for i, c := range late {
		c.record = records[i]
		c.answer()
	}
	return nil
}
