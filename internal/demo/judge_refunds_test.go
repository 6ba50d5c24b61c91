package demo

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/payment"
)

// cast are whom a breach is about.
type cast struct {
	given, refused refund
	canceled       charge
}

// refunded is what everyone says when a part of the captured payment was given back, a
// refund of another part was declined, and a third payment was canceled.
func refunded() (findings, cast) {
	f, captured, _ := sound()
	given := refund{uuid.New(), captured.Payment, "R-1", payment.OperationSucceeded, 400, "TRY", 400}
	refused := refund{uuid.New(), captured.Payment, "R-2", payment.OperationFailed, 300, "TRY", 0}
	canceled := charge{uuid.New(), uuid.New(), captured.Merchant, payment.StateCanceled, 700, "TRY", 0, nil}
	captured.Refunded = 400
	f.charges[captured.Payment], f.charges[canceled.Payment] = captured, canceled
	f.accepted[canceled.Payment], f.canceled = order{}, map[uuid.UUID]bool{canceled.Payment: true}
	f.refunds = map[uuid.UUID]refund{given.ID: given, refused.ID: refused}
	f.answered = map[uuid.UUID]call{given.ID: {}, refused.ID: {}}
	f.balances[0].Minor, f.balances[1].Minor = 600, -600
	f.oracles[0].References[given.ID.String()] = pspsim.Counts{Refunded: 1, Sends: 1}
	f.oracles[0].References[refused.ID.String()] = pspsim.Counts{Sends: 1}
	f.oracles[0].Totals["TRY"] = pspsim.Total{Charged: 1000, Refunded: 400}
	return f, cast{given, refused, canceled}
}

func TestI15_ARunWithRefundsAndCancelsKeepsEveryPromise(t *testing.T) {
	t.Parallel()
	f, _ := refunded()
	r := f.judge()
	require.Empty(t, r.Broken())
	require.Equal(t, []int{3, 1, 2, 1, 1, 1}, []int{r.Accepted, r.Captured, r.Failed, r.Canceled, r.Refunds, r.ProviderCharges})
}

func TestI15_EveryBreachAboutRefundsAndCancelsIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breach func(f *findings, c cast)
		broken []string
	}{
		"refunded twice": {func(f *findings, c cast) {
			f.oracles[0].References[c.given.ID.String()] = pspsim.Counts{Refunded: 2}
			f.oracles[0].Totals["TRY"] = pspsim.Total{Charged: 1000, Refunded: 800}
		}, []string{"P1"}},
		"refunded twice, and the sum is hidden": {func(f *findings, c cast) {
			f.oracles[0].References[c.given.ID.String()] = pspsim.Counts{Refunded: 2}
		}, []string{"P1"}},
		"refunded under two names of one reference": {func(f *findings, c cast) {
			c.refused.Reference = c.given.Reference
			f.refunds[c.refused.ID] = c.refused
			f.oracles[0].References[c.refused.ID.String()] = pspsim.Counts{Refunded: 1}
		}, []string{"P1", "P3"}},
		"refunded another amount": {func(f *findings, _ cast) {
			f.oracles[0].Totals["TRY"] = pspsim.Total{Charged: 999, Refunded: 399} // what is held is the same
		}, []string{"P1"}},
		"a lost refund": {func(f *findings, c cast) {
			delete(f.refunds, c.refused.ID)
		}, []string{"P2"}},
		"a lost refund that took place": {func(f *findings, c cast) {
			delete(f.refunds, c.given.ID)
		}, []string{"P1", "P2", "P4"}},
		"a refund that is open": {func(f *findings, c cast) {
			c.refused.State = payment.OperationUnknown
			f.refunds[c.refused.ID] = c.refused
		}, []string{"P2", "P4"}}, // what is unknown counts, and the payment does not say so
		"succeeded here and not there": {func(f *findings, c cast) {
			f.oracles[0].References[c.given.ID.String()] = pspsim.Counts{Sends: 1}
		}, []string{"P3"}},
		"failed here and not there": {func(f *findings, c cast) {
			f.oracles[0].References[c.refused.ID.String()] = pspsim.Counts{Refunded: 1}
			f.oracles[0].Totals["TRY"] = pspsim.Total{Charged: 1000, Refunded: 700}
		}, []string{"P1", "P3"}},
		"not booked": {func(f *findings, c cast) {
			c.given.Owed = 0
			f.refunds[c.given.ID] = c.given
		}, []string{"P4"}},
		"not in the balance": {func(f *findings, _ cast) {
			f.balances[0].Minor, f.balances[1].Minor = 1000, -1000
		}, []string{"P4"}},
		"not counted in the payment": {func(f *findings, c cast) {
			about := f.charges[c.given.Payment]
			about.Refunded = 0
			f.charges[c.given.Payment] = about
		}, []string{"P4"}},
		"untold": {func(f *findings, c cast) {
			delete(f.answered, c.refused.ID)
		}, []string{"P6"}},
		"canceled and charged": {func(f *findings, c cast) {
			f.oracles[0].References[c.canceled.Operation.String()] = pspsim.Counts{Charged: 1, Voided: 1}
		}, []string{"P3"}},
		"canceled only in the answer": {func(f *findings, c cast) {
			c.canceled.State = payment.StateFailed
			f.charges[c.canceled.Payment] = c.canceled
		}, []string{"P6"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, who := refunded()
			c.breach(&f, who)
			r := f.judge()
			require.Equal(t, c.broken, r.Broken(), "%+v", r)
		})
	}
}
