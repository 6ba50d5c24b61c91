package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	payonce "github.com/payonce/payonce/pkg/client"
	"github.com/payonce/payonce/pkg/money"
)

// load is callers that pay one invoice after the other, whatever happens to payonce.
type load struct {
	client *payonce.Client
	amount money.Amount
	stop   chan struct{}
	calls  sync.WaitGroup

	mu    sync.Mutex
	more  *sync.Cond
	taken map[string]string // invoices by payment
}

// startLoad starts the callers of one merchant. They end with end, or the test.
func startLoad(t *testing.T, shop client) *load {
	t.Helper()
	retry := payonce.Retry{First: 50 * time.Millisecond, Longest: time.Second, Within: 5 * time.Minute}
	asking, err := payonce.New(strings.TrimSuffix(shop.url, "/v1/payments"), shop.key, payonce.WithRetry(retry))
	require.NoError(t, err)
	l := &load{client: asking, stop: make(chan struct{}), taken: map[string]string{}}
	l.more = sync.NewCond(&l.mu)
	l.amount, err = money.Parse("10.00", "EUR")
	require.NoError(t, err)
	for caller := range callersAtOnce {
		l.calls.Go(func() { l.call(t, caller) })
	}
	t.Cleanup(asking.Close)
	return l
}

func (l *load) call(t *testing.T, caller int) {
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return
		case <-t.Context().Done():
			return
		default:
			l.pay(t, fmt.Sprintf("caller-%d-%d", caller, i), 1+i%3/2) // every third one twice at once
		}
	}
}

// pay sends one intent, as often at once as times says.
func (l *load) pay(t *testing.T, invoice string, times int) {
	intent, ids := payonce.NewIntent(), make(chan uuid.UUID, times)
	for range times {
		go func() {
			receipt, err := l.client.Submit(t.Context(), intent, payonce.PaymentRequest{
				InvoiceID: invoice, PaymentType: "order", Amount: l.amount, PaymentMethod: "tok_ok",
			})
			assert.NoError(t, err)
			ids <- receipt.Payment.ID
		}()
	}
	first := <-ids
	for range times - 1 {
		assert.Equal(t, first, <-ids, "one intent, two payments")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken[first.String()] = invoice
	l.more.Broadcast()
}

// awaitMore returns once as many payments more have been taken on.
func (l *load) awaitMore(t *testing.T, payments int) {
	t.Helper()
	stop := context.AfterFunc(t.Context(), l.more.Broadcast)
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for target := len(l.taken) + payments; len(l.taken) < target && !t.Failed(); {
		l.more.Wait()
	}
	require.False(t, t.Failed())
}

// end lets every caller finish what it has begun, and returns all payments.
func (l *load) end(t *testing.T) map[string]string {
	t.Helper()
	close(l.stop)
	l.calls.Wait()
	require.False(t, t.Failed())
	return l.taken
}
