package simulated_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/simulated"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a connector and the real simulated provider.
type bundle struct {
	t         *testing.T
	psp       *pspsim.Server
	connector *simulated.Connector
}

func start(t *testing.T, variant simulated.Variant, steps ...string) *bundle {
	t.Helper()
	psp, err := pspsim.New(pspsim.Options{})
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- pspsim.Serve(ctx, listener, psp) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-served)
	})
	b := &bundle{t: t, psp: psp, connector: connect(t, variant, "http://"+listener.Addr().String(), simulated.Options{})}
	b.script(steps...)
	return b
}

// script fixes what happens to the first sends of every operation.
func (b *bundle) script(steps ...string) {
	b.t.Helper()
	if len(steps) == 0 {
		require.NoError(b.t, b.psp.SetFaults(pspsim.Faults{}))
		return
	}
	script := pspsim.Script{Reference: "*"}
	for _, text := range steps {
		step, err := pspsim.ParseStep(text)
		require.NoError(b.t, err)
		script.Steps = append(script.Steps, step)
	}
	require.NoError(b.t, b.psp.SetFaults(pspsim.Faults{Scripts: []pspsim.Script{script}, Rates: pspsim.Rates{PendingMS: 60_000}}))
}

func (b *bundle) send(op provider.Operation) provider.Answer {
	b.t.Helper()
	return b.connector.Send(b.t.Context(), op, provider.NewStopDeadline(time.Now().Add(time.Minute)))
}

func (b *bundle) inquire(op provider.Operation) provider.Answer {
	b.t.Helper()
	return b.connector.Inquire(b.t.Context(), op)
}

func (b *bundle) closeDoor(op provider.Operation) provider.Answer {
	b.t.Helper()
	return b.connector.CloseDoor(b.t.Context(), op)
}

func (b *bundle) counts(op provider.Operation) pspsim.Counts {
	return b.psp.Oracle().References[op.Reference]
}

func operation(t *testing.T, kind payment.Kind, objectID string) provider.Operation {
	t.Helper()
	amount, err := money.Parse("10.00", "TRY")
	require.NoError(t, err)
	id, err := uuid.NewV7()
	require.NoError(t, err)
	return provider.Operation{ID: id, Kind: kind, Reference: id.String(), Amount: amount, PaymentMethod: "tok", ObjectID: objectID}
}

func TestW4_EachAnswerOfTheProviderGetsItsClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step    string
		verdict payment.Verdict
		reason  string
		charged int
	}{
		{"ok", payment.VerdictCaptured, "", 1},
		{"pending", payment.VerdictPending, "", 0},
		{"decline", payment.VerdictDeclined, "insufficient_funds", 0},
		{"refuse", payment.VerdictDeclined, "refused", 0},
		{"too_many", payment.VerdictNotTaken, provider.ReasonTryLater, 0},
		{"error_5xx", payment.VerdictUnclear, provider.ReasonForeignAnswer, 0},
		{"error_5xx_after", payment.VerdictUnclear, provider.ReasonForeignAnswer, 1},
		{"cut_before", payment.VerdictUnclear, provider.ReasonNoAnswer, 0},
		{"cut_after", payment.VerdictUnclear, provider.ReasonNoAnswer, 1},
		{"cut_inside", payment.VerdictUnclear, provider.ReasonNoAnswer, 1},
	} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			b := start(t, simulated.Full, c.step)
			op := operation(t, payment.KindCharge, "")
			answer := b.send(op)
			require.Equal(t, c.verdict, answer.Verdict, "%+v", answer)
			require.Equal(t, c.reason, answer.Reason)
			require.False(t, answer.NotSent)
			counts := b.counts(op)
			require.Equal(t, c.charged, counts.Charged)
			require.Equal(t, 1, counts.Sends)
			if c.step == "too_many" {
				require.Equal(t, time.Second, answer.RetryAfter)
			}
			if c.verdict == payment.VerdictCaptured {
				require.Equal(t, op.Amount, answer.Amount)
				require.Equal(t, "ch_000000000001", answer.ObjectID)
				require.Equal(t, http.StatusCreated, answer.Status)
			}
		})
	}
}

// The cut answers of T6: what a charge came to is found by inquiry, and a resend
// with the same key repeats nothing.
func TestT6_ACutAnswerIsResolvedByInquiryOrTheSameKey(t *testing.T) {
	t.Parallel()
	b := start(t, simulated.Full, "cut_after")
	op := operation(t, payment.KindCharge, "")
	require.Equal(t, payment.VerdictUnclear, b.send(op).Verdict)
	found := b.inquire(op)
	require.Equal(t, payment.VerdictCaptured, found.Verdict, "%+v", found)
	require.Equal(t, op.Amount, found.Amount)
	again := b.send(op)
	require.Equal(t, payment.VerdictCaptured, again.Verdict)
	require.Equal(t, found.ObjectID, again.ObjectID)
	require.Equal(t, pspsim.Counts{Charged: 1, Sends: 2}, b.counts(op))
}

func TestU2_NotFoundIsSaidOnlyByTheProvider(t *testing.T) {
	t.Parallel()
	b := start(t, simulated.NoKeys, "cut_before")
	op := operation(t, payment.KindCharge, "")
	b.send(op)
	require.Equal(t, payment.VerdictNotTaken, b.inquire(op).Verdict)
	require.NoError(t, b.psp.SetFaults(pspsim.Faults{Inquiry: pspsim.InquiryOff}))
	answer := b.inquire(op)
	require.Equal(t, payment.VerdictUnclear, answer.Verdict, "a 404 is not \"not found\": %+v", answer)
}

func TestTheProvidersKeyConflictIsNoDecline(t *testing.T) {
	t.Parallel()
	b := start(t, simulated.Full)
	op := operation(t, payment.KindCharge, "")
	b.send(op)
	op.Amount, _ = money.Parse("20.00", "TRY")
	answer := b.send(op)
	require.Equal(t, payment.VerdictUnclear, answer.Verdict)
	require.Equal(t, provider.ReasonKeyMismatch, answer.Reason)
}

func TestAVariantWithoutKeysSendsNone(t *testing.T) {
	t.Parallel()
	b := start(t, simulated.NoKeys)
	op := operation(t, payment.KindCharge, "")
	b.send(op)
	b.send(op)
	require.Equal(t, 2, b.counts(op).Charged, "each send is a charge: this is why nothing is resent blindly")
	answer := b.inquire(op)
	require.Equal(t, payment.VerdictCaptured, answer.Verdict)
	require.Equal(t, provider.ReasonSeveralCharges, answer.Reason)
	require.Len(t, answer.Others, 1)
	require.NotEqual(t, answer.ObjectID, answer.Others[0].ObjectID)
	require.Equal(t, op.Amount, answer.Others[0].Amount)
}

// Of several movements the one over our amount is ours, whichever came first (U7, B3).
func TestU7_TheMovementOverOurAmountIsOurs(t *testing.T) {
	t.Parallel()
	b := start(t, simulated.NoKeys)
	op := operation(t, payment.KindCharge, "")
	other := op
	other.Amount, _ = money.Parse("20.00", "TRY")
	first, second := b.send(other), b.send(op)
	answer := b.inquire(op)
	require.Equal(t, payment.VerdictCaptured, answer.Verdict)
	require.Equal(t, second.ObjectID, answer.ObjectID)
	require.Equal(t, op.Amount, answer.Amount)
	require.Equal(t, first.ObjectID, answer.Others[0].ObjectID)
	require.Equal(t, other.Amount, answer.Others[0].Amount)
}

// What is void may be what we had taken for ours: the list must not hide it.
func TestU8_AVoidIsNamedBesideTheChargeThatStands(t *testing.T) {
	t.Parallel()
	b := start(t, simulated.NoKeys)
	op := operation(t, payment.KindCharge, "")
	first := b.send(op)
	require.Equal(t, payment.VerdictCaptured, b.send(operation(t, payment.KindVoid, first.ObjectID)).Verdict)
	second := b.send(op)
	answer := b.inquire(op)
	require.Equal(t, second.ObjectID, answer.ObjectID)
	require.Empty(t, answer.Reason, "one charge stands")
	require.Len(t, answer.Others, 1)
	require.Equal(t, []any{first.ObjectID, payment.VerdictDeclined}, []any{answer.Others[0].ObjectID, answer.Others[0].Verdict})
}

func TestU4_ClosingTheDoor(t *testing.T) {
	t.Parallel()
	t.Run("never seen", func(t *testing.T) {
		t.Parallel()
		b := start(t, simulated.NoKeys, "cut_before")
		op := operation(t, payment.KindCharge, "")
		b.send(op)
		answer := b.closeDoor(op)
		require.Equal(t, payment.VerdictNotTaken, answer.Verdict, "%+v", answer)
		require.Equal(t, provider.ReasonDoorClosed, answer.Reason)
		late := b.send(op)
		require.Equal(t, payment.VerdictDeclined, late.Verdict)
		require.Equal(t, provider.ReasonVoided, late.Reason)
		require.Zero(t, b.counts(op).Charged)
	})
	t.Run("charged meanwhile", func(t *testing.T) {
		t.Parallel()
		b := start(t, simulated.NoKeys, "cut_after")
		op := operation(t, payment.KindCharge, "")
		b.send(op)
		answer := b.closeDoor(op)
		require.Equal(t, payment.VerdictNotTaken, answer.Verdict, "%+v", answer)
		require.Equal(t, provider.ReasonVoided, answer.Reason)
		require.Equal(t, pspsim.Counts{Charged: 1, Voided: 1, Sends: 1}, b.counts(op))
		found := b.inquire(op)
		require.Equal(t, payment.VerdictDeclined, found.Verdict, "a later resend with the key would repeat \"captured\"")
		require.Equal(t, provider.ReasonVoided, found.Reason)
	})
	t.Run("pending", func(t *testing.T) {
		t.Parallel()
		b := start(t, simulated.NoKeys, "pending")
		op := operation(t, payment.KindCharge, "")
		require.Equal(t, payment.VerdictPending, b.send(op).Verdict)
		require.Equal(t, payment.VerdictNotTaken, b.closeDoor(op).Verdict)
	})
	t.Run("too late", func(t *testing.T) {
		t.Parallel()
		b := start(t, simulated.Full)
		op := operation(t, payment.KindCharge, "")
		charged := b.send(op)
		refund := operation(t, payment.KindRefund, charged.ObjectID)
		require.Equal(t, payment.VerdictCaptured, b.send(refund).Verdict)
		require.Equal(t, payment.VerdictCaptured, b.closeDoor(op).Verdict)
	})
}

func TestRefundsAndVoidsRunOnTheSameRules(t *testing.T) {
	t.Parallel()
	for _, kind := range []payment.Kind{payment.KindRefund, payment.KindVoid} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := start(t, simulated.Full)
			charge := b.send(operation(t, payment.KindCharge, ""))
			op := operation(t, kind, charge.ObjectID)
			b.script("cut_after")
			require.Equal(t, payment.VerdictUnclear, b.send(op).Verdict)
			found := b.inquire(op)
			require.Equal(t, payment.VerdictCaptured, found.Verdict, "%+v", found)
			require.Equal(t, op.Amount, found.Amount)
			require.Equal(t, found.ObjectID, b.send(op).ObjectID)
		})
	}
	b := start(t, simulated.Full)
	require.True(t, b.send(operation(t, payment.KindRefund, "")).NotSent, "a refund of nothing is not sent")
	require.Equal(t, payment.VerdictDeclined, b.send(operation(t, payment.KindRefund, "ch_000000000009")).Verdict)
}

func TestAnAddressThatIsNoneIsRefusedWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:8090", "ftp://host", "http://", "http://user:secret@host:port"} {
		_, err := simulated.New(simulated.Full, address, simulated.Options{})
		require.Error(t, err, address)
		require.NotContains(t, err.Error(), "secret")
	}
}
