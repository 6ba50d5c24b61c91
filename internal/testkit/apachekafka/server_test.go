package apachekafka

import (
	"github.com/stretchr/testify/require"
	"testing"
	"time"
)

func TestX(t *testing.T) {
	t0 := time.Now()
	s, err := Start(t.Context())
	require.NoError(t, err)
	t.Log(time.Since(t0), s.Addr())
	t0 = time.Now()
	s.Stop()
	t.Log(time.Since(t0))
}
