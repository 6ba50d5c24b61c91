package app_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/payment"
)

// told is an answer to a post: a payment, or a problem that holds one.
type told struct {
	status int
	text   string
	view   payment.View
}

// ask posts a payment under a key. It may be called from any goroutine.
func (c client) ask(t *testing.T, key, invoice string) told {
	return c.askWith(t, c.header(key), invoice)
}

func (c client) askWith(t *testing.T, header http.Header, invoice string) told {
	status, text, err := c.insist(t.Context(), order(invoice, "10.00"), header)
	if err != nil {
		t.Error(err)
		return told{}
	}
	answer := told{status: status, text: string(text)}
	target := any(&answer.view)
	if answer.status >= http.StatusBadRequest {
		target = &struct{ Payment *payment.View }{&answer.view}
	}
	if err := json.Unmarshal(text, target); err != nil {
		t.Error(err)
	}
	return answer
}

func TestT2_AHundredPostsAtOnceWithOneKeyAreOneChargeAndOnePosting(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	shop := newClient(t, b, start(t, b, app.Intake))
	start(t, b, app.Relay)
	start(t, b, app.Worker)
	answers := make([]told, 100)
	var posts sync.WaitGroup
	for i := range answers {
		posts.Go(func() { answers[i] = shop.ask(t, "k-1", "invoice-1") })
	}
	posts.Wait()
	ids := map[uuid.UUID]bool{}
	for _, a := range answers {
		require.Contains(t, []int{http.StatusCreated, http.StatusAccepted, http.StatusConflict}, a.status, a.text)
		if a.status == http.StatusConflict {
			require.Contains(t, a.text, "urn:payonce:problem:request-in-progress")
			continue
		}
		ids[a.view.ID] = true
	}
	require.Len(t, ids, 1)
	b.captured(t, 1)
	require.Equal(t, http.StatusCreated, shop.ask(t, "k-1", "invoice-1").status)
	oracle := b.provider.Oracle()
	require.Len(t, oracle.References, 1)
	for reference, counts := range oracle.References {
		require.Equal(t, pspsim.Counts{Charged: 1, Sends: 1}, counts, reference)
	}
	var postings, lines int
	require.NoError(t, b.App.QueryRow(t.Context(), "SELECT count(DISTINCT operation_id), count(*) FROM ledger_entry").Scan(&postings, &lines))
	require.Equal(t, []int{1, 2}, []int{postings, lines})
}

func TestT9_AProviderThatTimesOutLeavesAPaymentThatIsOpenAndAnInvoiceThatIsTaken(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.environ = append(b.environ, "PAYONCE_PROVIDER_TIMEOUT=300ms")
	slow, err := pspsim.ParseStep("delay_after:3s")
	require.NoError(t, err)
	require.NoError(t, b.provider.SetFaults(pspsim.Faults{Scripts: []pspsim.Script{{Reference: "*", Steps: []pspsim.Step{slow}}}}))
	shop := newClient(t, b, start(t, b, app.Intake))
	start(t, b, app.Relay)
	start(t, b, app.Worker)
	first := shop.ask(t, "k-1", "invoice-1")
	require.Equal(t, http.StatusAccepted, first.status)
	id := first.view.ID.String()
	require.Eventually(t, func() bool { return shop.show(t, id).State == payment.StateUnknown }, time.Minute, 10*time.Millisecond)

	again := shop.ask(t, "k-1", "invoice-1")
	require.Equal(t, http.StatusAccepted, again.status, "the same click")
	require.Equal(t, first.view.ID, again.view.ID)
	require.Equal(t, payment.StateUnknown, again.view.State)
	second := shop.ask(t, "k-2", "invoice-1")
	require.Equal(t, http.StatusConflict, second.status, "another click")
	require.Equal(t, first.view.ID, second.view.ID)
	require.Equal(t, payment.StateUnknown, second.view.State)
	require.Contains(t, second.text, "is being worked on")
	require.NotContains(t, second.text, "fail")

	start(t, b, app.Reconciler)
	b.captured(t, 1)
	require.Equal(t, http.StatusCreated, shop.ask(t, "k-1", "invoice-1").status)
	second = shop.ask(t, "k-2", "invoice-1")
	require.Equal(t, http.StatusConflict, second.status)
	require.Contains(t, second.text, "was captured")
	require.Equal(t, 1, b.provider.Oracle().References[first.view.OperationID.String()].Charged)
}
