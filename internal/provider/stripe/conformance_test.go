package stripe_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/conformance"
	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testKey = "sk_test_0"
	// prepared is the PaymentIntent of every charge of the suite.
	prepared = "pi_conformance"
)

func TestU11_StripePassesTheConformanceSuite(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Subject{
		New: func(t testing.TB, address string, timeout time.Duration) provider.Connector {
			t.Helper()
			return connect(t, address, stripe.Options{Timeout: timeout})
		},
		Prepared: prepared,
		Words: map[payment.Kind]conformance.Words{
			payment.KindCharge: {Moved: succeeded, Found: succeeded},
			payment.KindRefund: {Moved: refundMade, Found: refundListed, Listed: true},
		},
	})
}

// succeeded is a PaymentIntent that has received an amount.
func succeeded(op provider.Operation) (status int, body string) {
	return http.StatusOK, fmt.Sprintf(`{"id":%q,"object":"payment_intent","status":"succeeded","amount":%d,"amount_received":%d,`+
		`"currency":%q,"metadata":{"operation_id":%q}}`,
		op.ObjectID, op.Amount.Minor(), op.Amount.Minor(), strings.ToLower(string(op.Amount.Currency())), op.Reference)
}

// refundMade is a refund of the PaymentIntent.
func refundMade(op provider.Operation) (status int, body string) {
	return http.StatusOK, fmt.Sprintf(`{"id":"re_conformance","object":"refund","status":"succeeded","payment_intent":%q,"amount":%d,`+
		`"currency":%q,"metadata":{"operation_id":%q}}`,
		op.ObjectID, op.Amount.Minor(), strings.ToLower(string(op.Amount.Currency())), op.Reference)
}

func refundListed(op provider.Operation) (status int, body string) {
	_, refund := refundMade(op)
	return http.StatusOK, `{"object":"list","has_more":false,"data":[` + refund + `]}`
}

func connect(t testing.TB, address string, o stripe.Options) *stripe.Connector {
	t.Helper()
	if o.Key == "" {
		o.Key = testKey
	}
	connector, err := stripe.New(address, o)
	require.NoError(t, err)
	t.Cleanup(connector.Close)
	return connector
}
