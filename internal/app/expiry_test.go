package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/pkg/payment"
)

func TestT10_I12_TheReconcilerSweepsOldKeysAndACapturedInvoiceIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.environ = append(b.environ, "PAYONCE_KEY_WINDOW=24h")
	intake := start(t, b, app.Intake)
	relay, worker := start(t, b, app.Relay), start(t, b, app.Worker)
	shop := newClient(t, b, intake)
	_, first := shop.pay(t, "invoice-1", "10.00")
	b.captured(t, 1)
	for _, s := range []serving{relay, worker} {
		s.stop()
		require.NoError(t, <-s.ended)
	}
	_, open := shop.pay(t, "invoice-2", "10.00")
	b.SetNow(t, 26*time.Hour)
	status, again := shop.pay(t, "invoice-1", "10.00")
	require.Equal(t, http.StatusCreated, status, "a stored key answers however old it is")
	require.Equal(t, first.ID, again.ID)

	start(t, b, app.Reconciler)
	require.Eventually(t, func() bool { // a sweep tells nobody
		var keys int
		require.NoError(t, b.App.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_key").Scan(&keys))
		return keys == 1
	}, time.Minute, 10*time.Millisecond)
	status, _ = shop.pay(t, "invoice-1", "10.00")
	require.Equal(t, http.StatusConflict, status)
	status, again = shop.pay(t, "invoice-2", "10.00")
	require.Equal(t, http.StatusAccepted, status, "an open payment keeps its key")
	require.Equal(t, open.ID, again.ID)
	require.Equal(t, payment.StateCaptured, shop.show(t, first.ID.String()).State)
	require.Equal(t, 1, b.provider.Oracle().References[first.OperationID.String()].Charged)
}
