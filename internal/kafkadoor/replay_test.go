package kafkadoor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/kafkadoor"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// forget makes the door's keys old and sweeps them, and sets the group's offsets back.
// It returns how many keys are gone.
func (h *hall) forget(t *testing.T) int {
	t.Helper()
	h.SetNow(t, idempotency.WindowDefault+idempotency.ClockMargin+time.Hour)
	swept, err := idempotency.Sweeper{Pool: h.App, Window: idempotency.WindowDefault, Log: zap.NewNop()}.Sweep(t.Context())
	require.NoError(t, err)
	_, err = h.admin.DeleteGroup(t.Context(), kafkadoor.Group(h.prefix))
	require.NoError(t, err)
	return swept
}

// Somebody sets the group's offsets back. The keys are gone, and the payments were
// declined, so that nothing but their age stands in the commands' way.
func TestI1_P1_AWholeTopicReadAgainAfterTheKeysAreGoneChargesNobody(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	first := h.start(t)
	const commands = 5
	answers := map[string]bool{}
	for i := range commands {
		a := h.shop.ask(t, h.shop.command(fmt.Sprintf("k-%d", i), body(fmt.Sprintf("INV-%d", i), "10.00")))
		view, _ := a.accepted(t)
		settle.Charge(t, h.App, view, payment.VerdictDeclined)
		answers[a.headers["ce_id"]] = true
	}
	first.stop()
	require.Equal(t, commands, h.forget(t))

	h.start(t)
	for _, a := range h.shop.hear(t, commands) {
		require.Equal(t, "urn:payonce:problem:command-expired", a.rejected(t).Type)
		require.True(t, answers[a.headers["ce_id"]], "the answer has the id that the first one had")
	}
	require.Equal(t, commands, h.payments(t))
}
