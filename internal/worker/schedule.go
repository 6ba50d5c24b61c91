package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
)

const (
	// dueGroupMax bounds what one look at the due list claims.
	dueGroupMax = 64
	// dueInterval is the pause between looks that found little. Retries wait half
	// a second at least, so looking more often would bring nothing.
	dueInterval = 100 * time.Millisecond
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
		pause := jittered(dueInterval)
		claimed, err := w.ScheduleOnce(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			w.log.Warn("due list not read", zap.Error(err))
			pause = jittered(duePauseOnError)
		case claimed >= dueGroupMax:
			continue // there is more
		}
		lifecycle.Wait(ctx, pause)
	}
}

// ScheduleOnce is one look at the due list. It returns how many attempts it
// launched; Drain waits for them.
func (w *Worker) ScheduleOnce(ctx context.Context) (int, error) {
	w.identify(ctx)
	total := 0
	for account, g := range w.gates {
		admitted := g.admit(dueGroupMax)
		if admitted == 0 {
			continue
		}
		claimed, err := w.claimDue(ctx, account, admitted)
		g.release(admitted - claimed)
		total += claimed
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// claimDue launches what it claims, so its slots are released by the senders.
func (w *Worker) claimDue(ctx context.Context, account string, limit int) (int, error) {
	started := time.Now()
	var attempts []operation.Attempt
	// A stop does not cut a claim in two.
	claiming, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimWait)
	defer cancel()
	err := pgx.BeginFunc(claiming, w.pool, func(tx pgx.Tx) error {
		var err error
		attempts, err = w.claimFor(account).ClaimDue(claiming, tx, limit)
		return err
	})
	if err != nil {
		w.disown(ctx, attempts, started)
		return 0, err
	}
	w.launch(ctx, attempts, started)
	return len(attempts), nil
}

// disown tells that attempts were not sent whose claim may have committed or not,
// because the answer to the commit was lost. Where it had, the operations may be
// sent again at once, and nobody has to ask the provider. Where it had not, there
// is no such attempt, and nothing changes.
func (w *Worker) disown(ctx context.Context, attempts []operation.Attempt, started time.Time) {
	for _, a := range attempts {
		w.sends.Go(func() {
			answer := provider.Answer{NotSent: true, Reason: provider.ReasonNotSent}
			w.tell(context.WithoutCancel(ctx), learned(w.gates[a.ProviderAccount], a, answer), started.Add(w.config.Lease))
		})
	}
}

func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d)
}
