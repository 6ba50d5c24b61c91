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
	"github.com/payonce/payonce/pkg/money"
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
				Captured: captured,
			}
			if variant == simulated.Full || variant == simulated.NoKeys {
				subject.Found = func(reference string, amount money.Amount) (int, string) {
					_, movement := captured(reference, amount)
					return http.StatusOK, `{"charges":[` + movement + `]}`
				}
			}
			conformance.Run(t, subject)
		})
	}
}

func captured(reference string, amount money.Amount) (status int, body string) {
	return http.StatusCreated, fmt.Sprintf(`{"id":"ch_1","reference":%q,"status":"captured","amountMinor":%d,"currency":%q}`,
		reference, amount.Minor(), amount.Currency())
}

func connect(t testing.TB, variant simulated.Variant, address string, o simulated.Options) *simulated.Connector {
	t.Helper()
	connector, err := simulated.New(variant, address, o)
	require.NoError(t, err)
	t.Cleanup(connector.Close)
	return connector
}
