package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/provider"
)

const (
	// dueGroupMax bounds what one look at the due list claims.
	dueGroupMax = 64
	// dueInterval is the pause between looks that found little. Retries wait half
	// a second at least, so looking more often would bring nothing.
	dueInterval = 100 * time.Millisecond
	// busyInterval is the pause while more waits than there are slots.
	busyInterval = 10 * time.Millisecond
	// claimWait bounds one claim, which a stop does not cut.
	claimWait = 5 * time.Second
	// duePauseOnError keeps a worker from hammering a database that is down.
	duePauseOnError = time.Second
)

// Schedule claims and sends what is due in PostgreSQL, until ctx ends: retries,
// resend orders, parked operations, and those whose message was lost. It needs
// no Kafka.
func (w *Worker) Schedule(ctx context.Context) {
	for ctx.Err() == nil {
		look, err := w.look(ctx)
		pause := jittered(dueInterval)
		switch {
		case err != nil && ctx.Err() == nil:
			w.log.Warn("due list not read", zap.Error(err))
			pause = jittered(duePauseOnError)
		case look.claimed >= dueGroupMax:
			continue // there is more
		case look.short:
			pause = jittered(busyInterval)
		}
		lifecycle.Wait(ctx, pause)
	}
}

// ScheduleOnce is one look at the due list. It returns how many attempts it
// launched; Drain waits for them, and for the questions to a provider that was down.
func (w *Worker) ScheduleOnce(ctx context.Context) (int, error) {
	look, err := w.look(ctx)
	return look.claimed, err
}

// look is what one look at the due list found.
type look struct {
	claimed int
	short   bool // slots ran out before the list did
}

func (w *Worker) look(ctx context.Context) (look, error) {
	w.identify(ctx)
	var total look
	for _, g := range w.gates {
		for _, c := range g.circuits {
			w.probe(ctx, c)
		}
		found, err := w.lookAt(ctx, g)
		total.claimed += found.claimed
		total.short = total.short || found.short
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// lookAt launches what it claims, so its slots are released by the senders.
func (w *Worker) lookAt(ctx context.Context, g *gate) (look, error) {
	shares, slots, short := g.admitDue()
	if slots == 0 {
		return look{short: short}, nil
	}
	defer func() { g.giveBack(shares, slots) }()
	started := time.Now()
	attempts, inDoubt, err := w.claimDue(ctx, g, shares, slots)
	if inDoubt {
		w.disown(ctx, attempts, started)
	}
	if err != nil {
		return look{}, err
	}
	full := len(attempts) == slots
	for _, a := range attempts {
		shares[w.circuit(a)]--
		slots--
	}
	for c, left := range shares {
		c.behind.Store(full || left == 0)
		short = short || full || left == 0
	}
	w.launch(ctx, attempts, started)
	return look{claimed: len(attempts), short: short}, nil
}

// claimDue claims no more of each kind than its share, and in all no more than there
// are slots. inDoubt says that the commit may have happened in spite of the error.
func (w *Worker) claimDue(
	ctx context.Context, g *gate, shares map[*circuit]int, slots int,
) (attempts []operation.Attempt, inDoubt bool, err error) {
	claim := w.claimFor(g)
	for c, most := range shares {
		claim.Lines = append(claim.Lines, operation.Line{Account: g.account, Kind: c.kind, Most: most})
	}
	// A stop does not cut a claim in two.
	claiming, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimWait)
	defer cancel()
	claimed := false
	err = pgx.BeginFunc(claiming, w.pool, func(tx pgx.Tx) error {
		var err error
		attempts, err = claim.ClaimDue(claiming, tx, slots)
		claimed = err == nil
		return err
	})
	return attempts, claimed && err != nil && !postgres.IsRolledBack(err), err
}

// disown tells that attempts were not sent whose claim may have committed or not,
// because the answer to the commit was lost. Where it had, the operations may be
// sent again at once, and nobody has to ask the provider. Where it had not, the next
// claim has the same fence, perhaps another worker's, and its request may be on the
// wire when this word comes. So the word carries the claim's own id, and is dropped
// where no attempt has it. Of a claim that surely rolled back nothing is said.
func (w *Worker) disown(ctx context.Context, attempts []operation.Attempt, started time.Time) {
	for _, a := range attempts {
		w.sends.Go(func() {
			answer := provider.Answer{NotSent: true, Reason: provider.ReasonNotSent}
			w.tell(context.WithoutCancel(ctx), learned(w.gates[a.ProviderAccount], a, answer, false), started.Add(w.config.Lease))
		})
	}
}

func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d)
}
