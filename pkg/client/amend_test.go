package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/client"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func (s *shop) paid(t *testing.T, c *client.Client, invoice string) payment.View {
	t.Helper()
	receipt, err := c.Submit(t.Context(), client.NewIntent(), order(t, invoice, "10.00"))
	require.NoError(t, err)
	settle.Capture(t, s.App, receipt.Payment)
	return receipt.Payment
}

func TestI15_ARefundIsOneRefundWhateverBecomesOfItsRequests(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	paid := s.paid(t, c, "INV-1")
	four, err := money.Parse("4.00", "TRY")
	require.NoError(t, err)
	intent, request := client.NewIntent(), client.RefundRequest{Reference: "R-1", Amount: four}
	s.meet(cutAfter, unavailable, cutWithin, badGateway, cutBefore)
	receipt, err := c.Refund(t.Context(), intent, paid.ID, request)
	require.NoError(t, err)
	require.True(t, receipt.Replayed, "the first request was done, and nobody heard of it")
	require.Equal(t, "4.00", receipt.Refund.Amount)
	again, err := c.GetRefund(t.Context(), receipt.Refund.ID)
	require.NoError(t, err)
	require.Equal(t, receipt.Refund, again)

	_, err = c.Refund(t.Context(), client.NewIntent(), paid.ID, client.RefundRequest{Reference: "R-1", All: true})
	conflict, ok := errors.AsType[*client.ConflictError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, receipt.Refund.ID, conflict.Refund.ID)

	seven, err := money.Parse("7.00", "TRY")
	require.NoError(t, err)
	_, err = c.Refund(t.Context(), client.NewIntent(), paid.ID, client.RefundRequest{Reference: "R-2", Amount: seven})
	problem, ok := errors.AsType[*client.ProblemError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "refund-exceeds-captured", problem.Name())
	require.NotErrorIs(t, err, client.ErrUnresolved)

	rest, err := c.Refund(t.Context(), client.NewIntent(), paid.ID, client.RefundRequest{Reference: "R-3", All: true})
	require.NoError(t, err)
	require.Equal(t, "6.00", rest.Refund.Amount, "all that was left")
	page, err := c.Refunds(t.Context(), paid.ID, client.Page{Limit: 1})
	require.NoError(t, err)
	require.Len(t, page.Refunds, 1)
	page, err = c.Refunds(t.Context(), paid.ID, client.Page{Cursor: page.Next})
	require.NoError(t, err)
	require.Len(t, page.Refunds, 1)
	require.Empty(t, page.Next)
	_, err = c.GetRefund(t.Context(), uuid.New())
	require.ErrorAs(t, err, &problem)
	require.Equal(t, "not-found", problem.Name())
}

func TestI15_ARefundWhoseAmountWasForgottenIsNotARefundOfEverything(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	paid := s.paid(t, c, "INV-1")
	four, err := money.Parse("4.00", "TRY")
	require.NoError(t, err)
	before := len(s.seen())
	for name, request := range map[string]client.RefundRequest{
		"nothing": {}, "no amount": {Reference: "R-1"}, "both": {Reference: "R-1", Amount: four, All: true},
	} {
		_, err := c.Refund(t.Context(), client.NewIntent(), paid.ID, request)
		require.ErrorContains(t, err, "an amount or all", name)
	}
	require.Len(t, s.seen(), before, "nothing was sent")
}

func TestI15_ACancelIsRepeatedAndAPaymentThatIsPaidStandsInItsWay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	receipt, err := c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	require.NoError(t, err)
	s.meet(cutAfter, cutWithin)
	canceled, err := c.Cancel(t.Context(), client.NewIntent(), receipt.Payment.ID)
	require.NoError(t, err)
	require.Equal(t, payment.StateCanceled, canceled.State)

	paid := s.paid(t, c, "INV-2")
	_, err = c.Cancel(t.Context(), client.NewIntent(), paid.ID)
	conflict, ok := errors.AsType[*client.ConflictError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, payment.StateCaptured, conflict.Payment.State)
	_, err = c.Refund(t.Context(), client.NewIntent(), canceled.ID, client.RefundRequest{Reference: "R-1", All: true})
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, payment.StateCanceled, conflict.Payment.State)
}

func TestI3_AnAnswerIsHeldBackUntilThePaymentIsFinal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	first, err := c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	require.NoError(t, err)
	request, answered := order(t, "INV-2", "10.00"), make(chan client.Receipt, 1)
	go func() {
		receipt, err := c.Waiting(client.WaitMax).Submit(t.Context(), client.NewIntent(), request)
		if err != nil {
			t.Error(err)
		}
		answered <- receipt
	}()
	var waiting client.Payments
	require.Eventually(t, func() bool {
		var err error
		waiting, err = c.List(t.Context(), client.Filter{InvoiceID: "INV-2"}, client.Page{})
		return err == nil && len(waiting.Payments) == 1
	}, time.Minute, 10*time.Millisecond)
	settle.Charge(t, s.App, waiting.Payments[0], payment.VerdictCaptured)
	require.Equal(t, payment.StateCaptured, (<-answered).Payment.State)
	seen, err := c.Get(t.Context(), first.Payment.ID)
	require.NoError(t, err)
	require.Equal(t, payment.StateCreated, seen.State, "who does not wait is answered at once")
}

func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	const payments = 5
	for i := range payments {
		s.paid(t, c, fmt.Sprintf("INV-%d", i))
	}
	var invoices []string
	for page := (client.Page{Limit: 2}); ; {
		found, err := c.List(t.Context(), client.Filter{State: payment.StateCaptured}, page)
		require.NoError(t, err)
		for _, view := range found.Payments {
			invoices = append(invoices, view.InvoiceID)
		}
		if page.Cursor = found.Next; found.Next == "" {
			break
		}
	}
	require.Equal(t, []string{"INV-4", "INV-3", "INV-2", "INV-1", "INV-0"}, invoices)

	one, err := c.List(t.Context(), client.Filter{InvoiceID: "INV-3"}, client.Page{})
	require.NoError(t, err)
	require.Len(t, one.Payments, 1)
	later, err := c.List(t.Context(), client.Filter{CreatedAfter: one.Payments[0].CreatedAt.AddDate(0, 0, 1)}, client.Page{})
	require.NoError(t, err)
	require.Empty(t, later.Payments)
	events, err := c.Events(t.Context(), one.Payments[0].ID, client.Page{})
	require.NoError(t, err)
	require.Equal(t, "created", events.Events[0].To)
	require.Nil(t, events.Events[0].From)
	require.Equal(t, "captured", events.Events[len(events.Events)-1].To)
	require.NotNil(t, events.Events[0].Told)
	_, err = c.Events(t.Context(), one.Payments[0].ID, client.Page{Cursor: "of somebody else"})
	problem, ok := errors.AsType[*client.ProblemError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 400, problem.Status)
}
