package testkit

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// Commits is a pool whose next commit can be cut off from its answer: whoever asked
// for it cannot tell whether it happened.
type Commits struct {
	Pool *pgxpool.Pool
	cut  atomic.Int32
}

// What becomes of a commit that is cut off.
const (
	commitArrives = iota + 1
	commitIsLost
)

// NewCommits opens a pool like the given one.
func NewCommits(t testing.TB, like *pgxpool.Pool) *Commits {
	t.Helper()
	c := &Commits{}
	config := like.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &committing{Conn: conn, commits: c}, err
	}
	var err error
	c.Pool, err = pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(c.Pool.Close)
	return c
}

// LoseAnswer lets the next commit happen, and its answer get lost.
func (c *Commits) LoseAnswer() { c.cut.Store(commitArrives) }

// LoseCommit lets the next commit get lost before PostgreSQL has it: it never happens.
func (c *Commits) LoseCommit() { c.cut.Store(commitIsLost) }

// committing is a connection to PostgreSQL.
type committing struct {
	net.Conn
	commits *Commits
}

var errCut = errors.New("the connection was cut")

func (c *committing) Write(b []byte) (int, error) {
	if !bytes.Contains(b, []byte("commit\x00")) {
		return c.Conn.Write(b)
	}
	switch c.commits.cut.Swap(0) {
	case commitIsLost:
		return 0, errors.Join(errCut, c.Close())
	case commitArrives:
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
		_, err := c.Read(make([]byte, 1)) // it happened
		return 0, errors.Join(errCut, err, c.Close())
	}
	return c.Conn.Write(b)
}
