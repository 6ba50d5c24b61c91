package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/await"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// MerchantWaitersMax bounds the clients of one merchant that wait: the others must find
// a place, too.
const MerchantWaitersMax = await.WaitersMax / 2

// The bounds of reading payments again after the wait, all of it outside of the requests
// at work. Past them a client gets the state that was committed before it.
const (
	presentWait = time.Second
	// presentMax leaves the connections to payments: when a process stops, or a
	// provider stands still, thousands of waits end at once.
	presentMax = 4
)

// WaitingRoom is where clients wait for their payments; its news is the stored
// answer.
type WaitingRoom = await.Room[accept.Answer]

// NewWaitingRoom returns a room that looks into the database.
func NewWaitingRoom(pool *pgxpool.Pool, log *zap.Logger) *WaitingRoom {
	return await.New(func(ctx context.Context, payments []uuid.UUID) (map[uuid.UUID]accept.Answer, error) {
		return accept.FinalAnswers(ctx, pool, payments)
	}, log)
}

// waiter is a client that waits for a payment to become final, and what is known of
// it until then.
type waiter struct {
	merchantID uuid.UUID
	result     accept.Result // its Payment as it was committed before the wait
	wait       time.Duration
	tell       func(http.ResponseWriter, accept.Result) error
}

// patientEndpoint answers a request, or returns a waiter that is to be told.
type patientEndpoint func(*api, http.ResponseWriter, *http.Request, merchant.Merchant) (*waiter, error)

// byPatientMerchant serves requests that may wait. They wait when the work is done:
// outside of the bounds of requests at work, with no connection to the database, and
// with nothing of their body.
func byPatientMerchant(serve patientEndpoint) func(*api) http.Handler {
	return func(a *api) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var waits *waiter
			a.authenticated(func(w http.ResponseWriter, r *http.Request, m merchant.Merchant) (err error) {
				waits, err = serve(a, w, r, m)
				return err
			}).ServeHTTP(w, r)
			if waits == nil {
				return
			}
			if err := a.await(w, r, waits); err != nil {
				a.fail(w, r, err)
			}
		})
	}
}

// unless tells a client at once that has nothing to wait for, or does not want to,
// and returns any other.
func (c *waiter) unless(final bool, w http.ResponseWriter) (*waiter, error) {
	if c.wait > 0 && !final {
		return c, nil
	}
	if c.wait > 0 {
		w.Header().Set("Preference-Applied", applied(c.wait))
	}
	return nil, c.tell(w, c.result)
}

// await tells the client how its payment ended, or after the wait how it stands.
func (a *api) await(w http.ResponseWriter, r *http.Request, client *waiter) error {
	if !a.waits.take(client.merchantID) {
		return client.tell(w, client.result)
	}
	defer a.waits.giveBack(client.merchantID)
	// The server's own deadline for the answer was set without the wait.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(client.wait + WriteTimeout)); err != nil {
		a.Log.Warn("a client cannot wait", zap.Error(err))
		return client.tell(w, client.result)
	}
	ctx, cancel := context.WithTimeout(r.Context(), client.wait)
	defer cancel()
	answer, err := a.Waiting.Wait(ctx, client.result.PaymentID)
	if r.Context().Err() != nil {
		return nil // the client left, and nobody reads an answer
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		w.Header().Set("Preference-Applied", applied(client.wait))
	}
	if err == nil {
		client.result.Answer = &answer
		return client.tell(w, client.result)
	}
	return client.tell(w, a.present(r.Context(), client))
}

// present returns the result with the payment as it stands now. While the database
// does not answer that is the payment as it was committed, which is older and not
// wrong.
func (a *api) present(ctx context.Context, client *waiter) accept.Result {
	result := client.result
	ctx, cancel := context.WithTimeout(ctx, presentWait)
	defer cancel()
	select {
	case a.presenting <- struct{}{}:
		defer func() { <-a.presenting }()
	case <-ctx.Done():
		return result
	}
	view, err := a.view(ctx, client.merchantID, result.PaymentID)
	if err != nil {
		return result
	}
	if view.State.Final() { // since the last look: what tells of it is the stored answer
		answers, err := accept.FinalAnswers(ctx, a.Pool, []uuid.UUID{view.ID})
		if err != nil {
			return result
		}
		if answer, stored := answers[view.ID]; stored {
			result.Answer = &answer
		}
	}
	result.Payment = view
	return result
}

// view reads one payment. Another merchant's payment does not exist here.
func (a *api) view(ctx context.Context, merchantID, id uuid.UUID) (payment.View, error) {
	views, err := operation.Views(ctx, a.Pool, merchantID, []uuid.UUID{id})
	if err != nil {
		return payment.View{}, err
	}
	view, found := views[id]
	if !found {
		return payment.View{}, noSuchPayment()
	}
	return view, nil
}
