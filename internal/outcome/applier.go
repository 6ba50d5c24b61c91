package outcome

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/groupcommit"
)

// The bounds of one applier.
const (
	// GroupMax outcomes share a transaction: enough to make a commit cheap, few
	// enough that a group that must be split is soon done.
	GroupMax = 128
	// committers work side by side, so that one group's commit overlaps with the
	// next one's statements. More of them only make the groups smaller.
	committers = 2
	// queueMax bounds the outcomes that wait, and with them the memory. It is
	// above what one process may have in flight.
	queueMax = 4096
	// groupLockWait: a held row makes the group split, and only its own outcome
	// waits on.
	groupLockWait = 50 * time.Millisecond
	aloneLockWait = 2 * time.Second
	// commitWait bounds one transaction. Past it the outcome is told again.
	commitWait = 10 * time.Second
)

// Applier applies outcomes that arrive together in one transaction.
type Applier = groupcommit.Committer[Outcome, Applied]

// NewApplier returns an applier; outcomes are taken while its Run does. Telling
// an outcome twice changes nothing: the second is only more evidence.
func NewApplier(pool *pgxpool.Pool, p Publisher) *Applier {
	return groupcommit.New(pool, groupcommit.Settings{
		GroupMax: GroupMax, Committers: committers, QueueMax: queueMax,
		GroupLockWait: groupLockWait, AloneLockWait: aloneLockWait, CommitWait: commitWait,
	}, p.Apply)
}
