package app_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/payment"
)

const payments = 50

func TestPaymentsGoInOverHTTPAreChargedOnceAndComeOutAsEvents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake := start(t, b, app.Intake)
	start(t, b, app.Relay)
	start(t, b, app.Worker)
	start(t, b, app.Reconciler)
	shop := newClient(t, b, intake)
	accepted := map[string]bool{}
	for i := range payments {
		invoice := fmt.Sprintf("invoice-%d", i)
		status, first := shop.pay(t, invoice, "10.00")
		require.Equal(t, http.StatusAccepted, status)
		_, second := shop.pay(t, invoice, "10.00")
		require.Equal(t, first.ID, second.ID)
		accepted[first.ID.String()] = true
	}
	told := b.captured(t, payments)
	for id := range accepted {
		require.Equal(t, payment.StateCaptured, shop.show(t, id).State)
		require.Equal(t, "10.00", told[id].Amount)
	}
	oracle := b.provider.Oracle()
	require.Len(t, oracle.References, payments)
	require.EqualValues(t, payments*10_00, oracle.Totals["EUR"].Charged)
	for reference, counts := range oracle.References {
		require.Equal(t, 1, counts.Charged, reference)
	}
}

func TestW8_LostMessagesAreAnAlarmAndThePaymentsAreDoneAllTheSame(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.useTopics(t, "single", 1)
	shop := newClient(t, b, start(t, b, app.Intake))
	start(t, b, app.Relay)
	worker := start(t, b, app.Worker)
	shop.pay(t, "invoice-1", "10.00")
	b.captured(t, 1)
	worker.stop()
	require.NoError(t, <-worker.ended)

	_, second := shop.pay(t, "invoice-2", "10.00")
	b.published(t, 2)
	admin := kadm.NewClient(b.broker.Client(t))
	offsets, err := admin.ListEndOffsets(t.Context(), b.broker.Topics.Requests)
	require.NoError(t, err)
	_, err = admin.DeleteRecords(t.Context(), offsets.Offsets())
	require.NoError(t, err)
	b.SetNow(t, 2*time.Minute) // past the time at which the message should have been there

	worker = start(t, b, app.Worker)
	require.Contains(t, b.captured(t, 2), second.ID.String())
	require.Eventually(t, func() bool { // the log is another part's work
		return worker.logs.FilterMessage("messages are not consumed; payments are sent from the due list only").Len() > 0
	}, time.Minute, 10*time.Millisecond)
	worker.becomes(t, http.StatusOK, "")
}

func TestAWorkerThatStopsFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.provider.SetFaults(pspsim.Faults{Rates: pspsim.Rates{DelayMS: 2000}}))
	shop := newClient(t, b, start(t, b, app.Intake))
	start(t, b, app.Relay)
	worker := start(t, b, app.Worker)
	_, view := shop.pay(t, "invoice-1", "10.00")
	require.Eventually(t, func() bool { // the provider has the request and has not answered
		for _, counts := range b.provider.Oracle().References {
			return counts.Open > 0
		}
		return false
	}, time.Minute, time.Millisecond)
	worker.stop()
	require.NoError(t, <-worker.ended)
	require.Equal(t, payment.StateCaptured, shop.show(t, view.ID.String()).State)
}

func TestAServiceRefusesADatabaseOfAnotherRole(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	reconciler, ok := app.Find("reconciler")
	require.True(t, ok)
	err := reconciler.Run(context.Background(), append(b.environ, "PAYONCE_DATABASE_URL="+b.OwnerURL))
	require.ErrorContains(t, err, "PAYONCE_DATABASE_URL: the role payonce_owner owns tables")
	require.Equal(t, app.ExitFailed, app.ExitCode(err))
}
