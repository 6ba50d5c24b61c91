package outbox_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/outbox"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
)

// stallAfter, in bytes.
const stallAfter = 1 << 20

// stallingConn stops reading in the middle of a large result, as a frozen process
// does.
type stallingConn struct {
	net.Conn
	read    int
	stalled chan struct{} // closed when it stops
	resume  chan struct{}
}

func (c *stallingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	before := c.read
	c.read += n
	if before < stallAfter && c.read >= stallAfter {
		close(c.stalled)
		<-c.resume
	}
	return n, err
}

// Frozen while it reads: the server is not idle in the transaction, it waits for
// the relay to take the rows.
func TestR6_LanesOfARelayThatStoppedReadingAreFreedByTheServer(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	payment := inLane(t, 3)
	for n := range 250 { // more than the sockets' buffers take
		e := captured(t, payment, n)
		e.Payload = []byte(strings.Repeat("x", event.PayloadBytesMax))
		commit(t, database.App, e)
	}
	stalled, resume := make(chan struct{}), make(chan struct{})
	config, err := pgxpool.ParseConfig(database.AppURL)
	require.NoError(t, err)
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &stallingConn{Conn: conn, stalled: stalled, resume: resume}, err
	}
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	thaw := sync.OnceFunc(func() { close(resume) })
	t.Cleanup(thaw) // before the pool, which would wait for the frozen one
	failed := make(chan error, 1)
	go func() {
		_, err := outbox.NewReader(pool).Lease(context.Background(), allLanes, wide)
		failed <- err
	}()
	<-stalled
	free := func() bool {
		l, err := outbox.NewReader(database.App).Lease(t.Context(), allLanes, outbox.Limits{Lanes: 1, Rows: 1, Bytes: 1})
		require.NoError(t, err)
		if l == nil {
			return false
		}
		l.Release(t.Context())
		return true
	}
	require.False(t, free())
	require.Eventually(t, free, time.Minute, 100*time.Millisecond)
	thaw()
	require.Error(t, <-failed)
}
