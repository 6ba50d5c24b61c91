package accept

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/groupcommit"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
)

// The bounds of one committer.
const (
	// GroupMax requests share a transaction. More of them make a commit hardly
	// cheaper and every one of them later.
	GroupMax = 64
	// committers work side by side: one group's statements run while the other
	// one's commit waits for the disk. More of them only make the groups smaller.
	committers = 2
	// queueMax bounds the requests that wait for a group.
	queueMax = 1024
	// groupLockWait is far longer than a commit takes. What is held for longer
	// splits the group.
	groupLockWait = 50 * time.Millisecond
	// KeyWaitMax is how long a request waits for another transaction that holds
	// its key, its invoice or its external reference.
	KeyWaitMax = time.Second
	// commitWait bounds one transaction from begin to commit.
	commitWait = 5 * time.Second
)

// ConnsMax is how many connections a Committer uses at once, at most.
const ConnsMax = committers + 2*groupcommit.LaneConns

// Errors of Committer.Accept that callers branch on.
var (
	// ErrBusy says that another transaction held the key, the invoice or the
	// reference for KeyWaitMax. Nothing was stored.
	ErrBusy = errors.New("another request with this key or for this payment is being worked on")
	// ErrUnavailable says that the database could not be asked, or that its
	// answer to the commit was lost. The same request with the same key finds out
	// what became of this one.
	ErrUnavailable = errors.New("payments cannot be taken on at the moment")
)

// Committer accepts requests in transactions that concurrent requests share.
type Committer struct {
	group *groupcommit.Committer[Request, Result]
}

// NewCommitter returns a committer; Accept works while its Run does.
func NewCommitter(pool *pgxpool.Pool, rules Rules) *Committer {
	return newCommitter(pool, rules.Accept)
}

func newCommitter(pool *pgxpool.Pool, apply groupcommit.Apply[Request, Result]) *Committer {
	return &Committer{groupcommit.New(pool, groupcommit.Settings{
		GroupMax: GroupMax, Committers: committers, QueueMax: queueMax,
		GroupLockWait: groupLockWait, AloneLockWait: KeyWaitMax, CommitWait: commitWait,
	}, apply)}
}

// Run commits groups until ctx ends, then finishes what is queued and returns.
func (c *Committer) Run(ctx context.Context) { c.group.Run(ctx) }

// Accept returns the answer to a request once it has been committed. When ctx ends
// before, the request may still be accepted; neither that nor a failure of this
// request concerns the others that are committed with it.
//
// Besides unexpected errors of the database it returns ErrBusy or ErrUnavailable,
// and both may be tried again with the same key.
func (c *Committer) Accept(ctx context.Context, request Request) (Result, error) {
	var result Result
	err := whileItDissolves(func() (err error) {
		result, err = c.group.Do(ctx, request)
		return err
	})
	if err != nil {
		return Result{}, explained(err)
	}
	return result, nil
}

// whileItDissolves tries again what met something that was gone before it could be
// shown: a payment that failed and let its invoice go, a key that was swept. The next try
// finds nothing in its way, and the client never hears of it.
func whileItDissolves(try func() error) error {
	for deadline := time.Now().Add(KeyWaitMax); ; {
		err := try()
		if !dissolved(err) || time.Now().After(deadline) {
			return err
		}
	}
}

func dissolved(err error) bool {
	return errors.Is(err, idempotency.ErrKeyVanished) || errors.Is(err, operation.ErrNotHeld)
}
