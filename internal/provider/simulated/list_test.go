package simulated_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/conformance"
	"github.com/payonce/payonce/internal/provider/simulated"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/payment"
)

func TestU10_AListGoesThroughAllPagesOfItsWindow(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	now := noon
	sim, err := pspsim.New(pspsim.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	connector := connect(t, simulated.Full, server.URL, simulated.Options{})
	send := func(op provider.Operation) provider.Answer {
		return connector.Send(t.Context(), op, provider.NewStopDeadline(time.Now().Add(time.Minute)))
	}
	const inside = 1001 // the provider's pages hold 1000
	var last provider.Answer
	for i := range inside + 2 {
		now = noon.Add(time.Duration(i) * time.Second)
		last = send(operation(t, payment.KindCharge, ""))
		require.Equal(t, payment.VerdictCaptured, last.Verdict)
	}
	send(operation(t, payment.KindRefund, last.ObjectID))

	query := provider.ListQuery{From: noon.Add(time.Second), To: noon.Add((inside + 1) * time.Second)}
	var all []provider.Movement
	for {
		page, err := connector.List(t.Context(), query)
		require.NoError(t, err)
		all = append(all, page.Movements...)
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	require.Len(t, all, inside)
	require.Equal(t, provider.Movement{
		Reference: all[0].Reference, ObjectID: "ch_000000000002", Kind: payment.KindCharge, Verdict: payment.VerdictCaptured,
		Amount: operation(t, payment.KindCharge, "").Amount, CreatedAt: noon.Add(time.Second),
	}, all[0])
	page, err := connector.List(t.Context(), provider.ListQuery{From: query.To, To: query.To.Add(time.Hour)})
	require.NoError(t, err)
	require.Len(t, page.Movements, 2)
	require.Equal(t, payment.KindRefund, page.Movements[1].Kind)
}

func answering(t *testing.T, status int, body string) *simulated.Connector {
	t.Helper()
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		if _, _, ok := c.Request(); ok {
			c.Answer(status, "application/json", body)
		}
	})
	return connect(t, simulated.Full, server.URL(), simulated.Options{})
}

func TestU10_APageThatIsNotWholeIsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{"charges":null}`, `[]`, `{"charges":[{"id":"ch_1"}]}`, `<html>`} {
		_, err := answering(t, 200, body).List(t.Context(), provider.ListQuery{To: time.Now()})
		require.Error(t, err, body)
	}
	_, err := answering(t, 500, `{"charges":[]}`).List(t.Context(), provider.ListQuery{To: time.Now()})
	require.Error(t, err)
}

func TestTheAccountIsWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	b := start(t, simulated.Full)
	require.Empty(t, b.connector.Recipe())
	require.NoError(t, b.connector.Identify(t.Context()))
	require.Equal(t, "simulated/1@sim_1", b.connector.Recipe())
	require.Error(t, answering(t, 404, `{"id":"x"}`).Identify(t.Context()))
	require.Error(t, answering(t, 200, `{}`).Identify(t.Context()))
}
