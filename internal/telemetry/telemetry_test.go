package telemetry_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"github.com/payonce/payonce/internal/telemetry"
)

func TestALoggerHasTheLevelThatWasAskedFor(t *testing.T) {
	t.Parallel()
	log, err := telemetry.NewLogger("relay", "warn")
	require.NoError(t, err)
	require.False(t, log.Core().Enabled(zapcore.InfoLevel))
	require.True(t, log.Core().Enabled(zapcore.WarnLevel))
	_, err = telemetry.NewLogger("relay", "loud")
	require.ErrorContains(t, err, "loud")
}
