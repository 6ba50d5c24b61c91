package connectors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider/connectors"
)

func TestU1_EachConnectorHasItsNameAndSoundCapabilities(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"simulated", "simulated-bare", "simulated-keysonly", "simulated-nokeys"}, connectors.Names())
	for _, name := range connectors.Names() {
		connector, err := connectors.New(name, "http://127.0.0.1:1", connectors.Options{Timeout: time.Second, Grace: time.Minute})
		require.NoError(t, err)
		require.Equal(t, name, connector.Name())
		declared := connector.Capabilities()
		require.NoError(t, declared.Validate())
		require.Equal(t, time.Second, declared.Timeout)
		if declared.Inquiry.Supported {
			require.Equal(t, time.Minute, declared.Inquiry.Grace)
		}
	}
}

func TestO6_AnUnknownConnectorIsToldTheKnownOnes(t *testing.T) {
	t.Parallel()
	_, err := connectors.New("strype", "http://127.0.0.1:1", connectors.Options{})
	require.ErrorContains(t, err, `"strype" is no connector; known are simulated, simulated-bare`)
	connector, err := connectors.New("simulated", "nonsense", connectors.Options{})
	require.Error(t, err)
	require.Nil(t, connector)
}
