package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/client"
	"github.com/payonce/payonce/pkg/payment"
)

func TestAwaitReturnsTheFinalPaymentAndAnOpenOneIsNoFailure(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	receipt, err := c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	require.NoError(t, err)

	ctx, stops := endingAfter(t, 2)
	seen, err := s.client(t, stops).Await(ctx, receipt.Payment.ID)
	require.ErrorIs(t, err, client.ErrStillOpen)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, client.ErrUnknown)
	require.Equal(t, receipt.Payment, seen)

	var looks atomic.Int32
	s.onGet = func() {
		if looks.Add(1) == 3 {
			settle.Charge(t, s.App, receipt.Payment, payment.VerdictCaptured)
		}
	}
	s.meet(cutAfter, unavailable, badGateway)
	final, err := c.Await(t.Context(), receipt.Payment.ID)
	require.NoError(t, err)
	require.Equal(t, payment.StateCaptured, final.State)

	_, err = c.Get(t.Context(), uuid.New())
	problem, ok := errors.AsType[*client.ProblemError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "not-found", problem.Name())
}

// endingAfter returns a context that ends as soon as a client with the option has read
// so many answers.
func endingAfter(t *testing.T, answers int32) (context.Context, client.Option) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var read atomic.Int32
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return ctx, client.WithTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := transport.RoundTrip(r)
		if err == nil {
			response.Body = closing{response.Body, func() {
				if read.Add(1) == answers {
					cancel()
				}
			}}
		}
		return response, err
	}))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// closing is a body that tells when it was read.
type closing struct {
	io.ReadCloser
	closed func()
}

func (c closing) Close() error {
	defer c.closed()
	return c.ReadCloser.Close()
}

func TestP3_AwaitCallsAPaymentOpenOnlyWhenItsLastLookSawThat(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	receipt, err := c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	require.NoError(t, err)

	s.meet("", unavailable) // seen open, and then not at all
	ctx, stops := endingAfter(t, 2)
	seen, err := s.client(t, stops).Await(ctx, receipt.Payment.ID)
	require.ErrorIs(t, err, client.ErrUnknown)
	require.NotErrorIs(t, err, client.ErrStillOpen)
	problem, ok := errors.AsType[*client.ProblemError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "unavailable", problem.Name(), "what the last look met")
	require.Equal(t, receipt.Payment, seen, "as it was last seen")

	seen, err = c.Await(t.Context(), uuid.New())
	require.ErrorIs(t, err, client.ErrUnknown)
	require.ErrorAs(t, err, &problem)
	require.Equal(t, "not-found", problem.Name())
	require.Zero(t, seen)
}
