package simulated_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/conformance"
	"github.com/payonce/payonce/internal/provider/simulated"
	"github.com/payonce/payonce/pkg/payment"
)

func TestU11_EachVariantPassesTheConformanceSuite(t *testing.T) {
	t.Parallel()
	for _, variant := range []simulated.Variant{simulated.Full, simulated.NoKeys, simulated.KeysOnly, simulated.Bare} {
		t.Run(variant.String(), func(t *testing.T) {
			t.Parallel()
			subject := conformance.Subject{
				New: func(t testing.TB, address string, timeout time.Duration) provider.Connector {
					t.Helper()
					return connect(t, variant, address, simulated.Options{Timeout: timeout})
				},
				Words: map[payment.Kind]conformance.Words{},
			}
			words := conformance.Words{Moved: captured}
			if variant == simulated.Full || variant == simulated.NoKeys {
				words.Found = found
			}
			for _, kind := range []payment.Kind{payment.KindCharge, payment.KindRefund, payment.KindVoid} {
				subject.Words[kind] = words // the provider writes every movement in the same way
			}
			conformance.Run(t, subject)
		})
	}
}

func captured(op provider.Operation) (status int, body string) {
	return http.StatusCreated, fmt.Sprintf(`{"id":"ch_1","reference":%q,"status":"captured","amountMinor":%d,"currency":%q}`,
		op.Reference, op.Amount.Minor(), op.Amount.Currency())
}

func found(op provider.Operation) (status int, body string) {
	_, movement := captured(op)
	return http.StatusOK, `{"charges":[` + movement + `]}`
}

func connect(t testing.TB, variant simulated.Variant, address string, o simulated.Options) *simulated.Connector {
	t.Helper()
	connector, err := simulated.New(variant, address, o)
	require.NoError(t, err)
	t.Cleanup(connector.Close)
	return connector
}
