package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/httpapi"
	"github.com/payonce/payonce/pkg/payment"
)

// payAndWait posts a payment and waits for its end, from any goroutine.
func (c client) payAndWait(t *testing.T, invoice string) told {
	header := c.header("key-" + invoice)
	header.Set("Prefer", "wait=30")
	return c.askWith(t, header, invoice)
}

func TestI3_AClientThatWaitsHearsHowItsPaymentEnded(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	shop := newClient(t, b, start(t, b, app.Intake))
	start(t, b, app.Relay)
	start(t, b, app.Worker)
	got := shop.payAndWait(t, "invoice-1")
	require.Equal(t, http.StatusCreated, got.status)
	require.Equal(t, payment.StateCaptured, got.view.State)
	require.Equal(t, 1, b.provider.Oracle().References[got.view.OperationID.String()].Charged)
}

func TestI3_AnIntakeThatIsStoppedAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	const clients = 50
	b := newBundle(t)
	intake := start(t, b, app.Intake) // and nobody who would charge
	shop := newClient(t, b, intake)
	answers := make(chan told, clients)
	for i := range clients {
		go func() { answers <- shop.payAndWait(t, fmt.Sprint("invoice-", i)) }()
	}
	require.Eventually(t, func() bool {
		var accepted int
		require.NoError(t, b.App.QueryRow(t.Context(), "SELECT count(*) FROM payment").Scan(&accepted))
		return accepted == clients
	}, time.Minute, 5*time.Millisecond)
	told := time.Now()
	intake.stop()
	require.NoError(t, <-intake.ended)
	for range clients {
		got := <-answers
		require.Equal(t, http.StatusAccepted, got.status)
		require.Equal(t, payment.StateCreated, got.view.State)
	}
	require.Less(t, time.Since(told), httpapi.WaitMax, "nobody is let wait to the end")
}
