package outcome

import (
	"cmp"
	"errors"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// competeFor lets another payment want the invoice of an operation.
func (r *replay) competeFor(k *known) error {
	if k.row.CaseID != nil {
		return nil
	}
	_, err := operation.HoldIdentities(r.ctx, r.tx, []operation.NewPayment{{
		PaymentID: uuid.New(), MerchantID: k.row.MerchantID, InvoiceID: k.row.Payment.InvoiceID, PaymentType: k.row.Payment.PaymentType,
	}})
	return err
}

// carryInDatabase returns the id of the operation that the step ordered.
func (r *replay) carryInDatabase(f *file, can provider.Capabilities) (uuid.UUID, error) {
	if !isDue(f) {
		return uuid.Nil, nil
	}
	_, err := storyPublisher.CarryOut(r.ctx, r.tx, casework.Due{
		CaseID: f.ID, PaymentID: f.PaymentID, OperationID: f.OperationID, Plan: f.Plan, Version: f.Version,
	}, can)
	if err != nil {
		return uuid.Nil, err
	}
	all, err := operation.Compensations(r.ctx, r.tx, []uuid.UUID{f.ID})
	if err != nil || len(all[f.ID]) == len(f.compensations) {
		return uuid.Nil, err
	}
	for _, c := range all[f.ID] {
		if r.named(c.OperationID) == nil {
			return c.OperationID, nil
		}
	}
	return uuid.Nil, errors.New("an operation of the case is missing")
}

func (r *replay) judgeInDatabase(t *rapid.T, a *action) error {
	f := r.cast[a.whom].files[a.file]
	fits := r.fits(*a)
	d := casework.Decision{Action: a.choice, Version: f.Version, Who: "ada", Reason: "seen at the provider"}
	_, err := casework.Decide(r.ctx, r.tx, f.ID, d)
	if fits {
		return err
	}
	require.Error(t, err)
	require.True(t, errors.Is(err, casework.ErrDoesNotFit) || errors.Is(err, casework.ErrNotOpen), "%v", err)
	return nil
}

// compareCases holds the cases in PostgreSQL against the story, and takes over the
// names that were given there.
func (r *replay) compareCases(t *rapid.T) {
	var charges []uuid.UUID
	want := 0
	for _, k := range r.cast {
		if k.row.CaseID == nil {
			charges, want = append(charges, k.row.ID), want+len(k.files)
		}
	}
	stored, err := casework.OfOperations(r.ctx, r.tx, charges, nil)
	require.NoError(t, err)
	require.Len(t, stored, want)
	known := map[uuid.UUID]bool{}
	for _, c := range stored {
		known[c.ID] = true
	}
	for _, c := range stored {
		f := r.fileOf(c, known)
		require.NotNil(t, f, "%+v", c)
		f.ID = c.ID
		require.Equal(t, f.Standing, c.Standing)
		require.Equal(t, f.Amount, c.Amount)
		require.Equal(t, f.MovedBy, c.MovedBy)
		require.Equal(t, f.Suspended, c.Suspended)
	}
	_, err = r.tx.Exec(r.ctx, "SET CONSTRAINTS ALL IMMEDIATE") // what a commit would check
	require.NoError(t, err)
	_, err = r.tx.Exec(r.ctx, "SET CONSTRAINTS ALL DEFERRED")
	require.NoError(t, err)
}

// fileOf finds a case by its name, or the one that has no name of the database's yet: of
// two doubts about one movement the older one is closed, and was named before.
func (r *replay) fileOf(c casework.Case, known map[uuid.UUID]bool) *file {
	files := r.named(c.OperationID).files
	for _, f := range files {
		if f.ID == c.ID {
			return f
		}
	}
	for _, f := range files {
		if !known[f.ID] && f.Kind == c.Kind && f.ProviderObjectID == c.ProviderObjectID && f.Amount == c.Amount {
			return f
		}
	}
	return nil
}

// checkBooks: what succeeded is booked once, what the provider took besides stands in
// suspense while its case is open, and nothing else is booked (P4, L1). An invoice is
// free when its payment failed, and only then (I9).
func (r *replay) checkBooks(t *rapid.T) {
	clearing, suspense, payable := map[money.Currency]int64{}, map[money.Currency]int64{}, map[money.Currency]int64{}
	for _, k := range r.cast {
		if k.row.CaseID != nil {
			continue
		}
		held := 1
		if k.row.State == payment.OperationFailed {
			held = 0
		}
		require.Equal(t, held, r.count(t, "SELECT count(*) FROM invoice_identity WHERE payment_id = $1", k.row.PaymentID))
		if k.row.State == payment.OperationSucceeded {
			clearing[k.row.Amount.Currency()] += k.row.Amount.Minor()
			payable[k.row.Amount.Currency()] -= k.row.Amount.Minor()
		}
		for _, f := range k.files {
			if f.Suspended && !f.State.Closed() {
				clearing[f.Amount.Currency()] += f.Amount.Minor()
				suspense[f.Amount.Currency()] -= f.Amount.Minor()
			}
		}
	}
	balances, err := ledger.Balances(r.ctx, r.tx)
	require.NoError(t, err)
	sums, owed := map[money.Currency]int64{}, map[money.Currency]int64{}
	for _, b := range balances {
		sums[b.Currency] += b.Minor
		switch b.Account {
		case ledger.ClearingAccount(r.account):
			require.Equal(t, clearing[b.Currency], b.Minor)
		case ledger.SuspenseAccount(r.account):
			require.Equal(t, suspense[b.Currency], b.Minor)
		default:
			owed[b.Currency] += b.Minor
		}
	}
	for currency, sum := range sums {
		require.Zero(t, sum)
		require.Equal(t, cmp.Or(payable[currency], 0), owed[currency])
	}
}
