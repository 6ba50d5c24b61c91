package stripe_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/conformance"
	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/internal/testkit/fakestripe"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// bundle is a connector and a Stripe that keeps what it is told.
type bundle struct {
	t         *testing.T
	stripe    *fakestripe.Server
	connector *stripe.Connector
}

func start(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, stripe: fakestripe.New("acct_1")}
	server := httptest.NewServer(b.stripe)
	t.Cleanup(server.Close)
	b.connector = connect(t, server.URL, stripe.Options{Key: fakestripe.Key})
	return b
}

func (b *bundle) send(op provider.Operation) provider.Answer {
	b.t.Helper()
	return b.connector.Send(b.t.Context(), op, within(time.Minute))
}

func (b *bundle) inquire(op provider.Operation) provider.Answer {
	b.t.Helper()
	return b.connector.Inquire(b.t.Context(), op)
}

func (b *bundle) closeDoor(op provider.Operation) provider.Answer {
	b.t.Helper()
	return b.connector.CloseDoor(b.t.Context(), op)
}

// prepared returns a charge with its PaymentIntent.
func (b *bundle) prepared() provider.Operation {
	b.t.Helper()
	op := charge(b.t, "10.00", "TRY")
	id, refused := b.connector.Prepare(b.t.Context(), op, within(time.Minute))
	require.NotEmpty(b.t, id, "%+v", refused)
	op.ObjectID = id
	return op
}

func charge(t *testing.T, amount string, currency money.Currency) provider.Operation {
	t.Helper()
	return operation(t, payment.KindCharge, amount, currency, "")
}

func operation(t *testing.T, kind payment.Kind, text string, currency money.Currency, objectID string) provider.Operation {
	t.Helper()
	amount, err := money.Parse(text, currency)
	require.NoError(t, err)
	id, err := uuid.NewV7()
	require.NoError(t, err)
	return provider.Operation{
		ID: id, Kind: kind, Reference: id.String(), Amount: amount, PaymentMethod: "pm_1", Customer: "cus_1", ObjectID: objectID,
	}
}

func within(d time.Duration) provider.StopDeadline {
	return provider.NewStopDeadline(time.Now().Add(d))
}

// says starts a Stripe that answers every request with the same words.
func says(t *testing.T, status int, body string) *stripe.Connector {
	t.Helper()
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		for {
			if _, _, ok := c.Request(); !ok {
				return
			}
			c.Answer(status, "application/json", body)
		}
	})
	return connect(t, server.URL(), stripe.Options{})
}
