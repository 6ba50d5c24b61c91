package stripe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fakestripe"
	"github.com/payonce/payonce/pkg/payment"
)

func lastHour() provider.ListQuery {
	return provider.ListQuery{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}
}

func TestU10_AListGoesThroughAllPagesOfChargesAndRefunds(t *testing.T) {
	t.Parallel()
	b := start(t)
	want := map[string]payment.Verdict{}
	var charged provider.Operation
	for range 130 {
		charged = b.prepared()
		want[charged.Reference] = payment.VerdictNotTaken
	}
	require.Equal(t, payment.VerdictCaptured, b.send(charged).Verdict)
	want[charged.Reference] = payment.VerdictCaptured
	for range 110 {
		refund := operation(t, payment.KindRefund, "0.01", "TRY", charged.ObjectID)
		require.Equal(t, payment.VerdictCaptured, b.send(refund).Verdict)
		want[refund.Reference] = payment.VerdictCaptured
	}
	pages, refunds := 0, 0
	query := lastHour()
	for {
		page, err := b.connector.List(t.Context(), query)
		require.NoError(t, err)
		pages++
		for _, m := range page.Movements {
			require.Equal(t, want[m.Reference], m.Verdict, "%+v", m)
			require.NotEmpty(t, m.ObjectID)
			require.False(t, m.Amount.IsZero())
			require.WithinDuration(t, time.Now(), m.CreatedAt, time.Hour)
			if m.Kind == payment.KindRefund {
				refunds++
			}
			delete(want, m.Reference)
		}
		if page.Next == "" {
			break
		}
		query.Cursor = page.Next
	}
	require.Empty(t, want, "each once")
	require.Equal(t, [2]int{4, 110}, [2]int{pages, refunds})
}

func TestU10_APageThatIsNotWholeIsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`, `{"object":"list"}`, `{"object":"list","data":null}`, `{"object":"search_result","data":[]}`, `<html>`, `{"error":{}}`,
	} {
		for _, cursor := range []string{"", "refunds:"} {
			query := lastHour()
			query.Cursor = cursor
			_, err := says(t, 200, body).List(t.Context(), query)
			require.Error(t, err, body)
		}
		refund := operation(t, payment.KindRefund, "1.00", "TRY", "pi_1")
		require.Equal(t, payment.VerdictUnclear, says(t, 200, body).Inquire(t.Context(), refund).Verdict, "%s is not \"not found\"", body)
	}
	b := start(t)
	b.stripe.Script(fakestripe.List, fakestripe.Step{CutAfter: true}, fakestripe.Step{CutAfter: true})
	_, err := b.connector.List(t.Context(), lastHour())
	require.Error(t, err)
}
