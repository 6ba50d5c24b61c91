package reconcile

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/groupcommit"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/webhook"
)

const (
	// eventsMax webhooks of one account are worked on at once.
	eventsMax = 16
	// eventAllowance is what an event may take beyond the provider's timeout of one
	// question, before another reconciler takes it too.
	eventAllowance = 15 * time.Second
	// eventDelayMin and eventDelayMax bound the pause before a webhook is looked at
	// again: it doubles with each try. A webhook is often faster than our own record
	// of what it speaks of, and never worth asking about in a hurry after that.
	eventDelayMin = 500 * time.Millisecond
	eventDelayMax = 10 * time.Minute
	// MatchPatience is how long a webhook waits for the operation that it speaks of.
	// Providers repeat theirs for about three days, so this outlasts a restore.
	MatchPatience = 72 * time.Hour
	// forgetInterval and forgetMax pace the removal of old bodies.
	forgetInterval = time.Minute
	forgetMax      = 500
)

// Events works off what providers told by webhook. A captured is applied at once,
// like every other one; anything else settles nothing and makes the provider be
// asked (U8). So it does not matter in which order events come, how often, or how
// late: what counts is what the provider says when it is asked.
type Events struct {
	*Reconciler

	applier *groupcommit.Committer[settlement, outcome.Applied]
}

// NewEvents returns the reconciler's events. Run and RunApplier must both be running.
func NewEvents(r *Reconciler) *Events {
	return &Events{Reconciler: r, applier: newEventApplier(r.Pool, r.Publisher)}
}

func newEventApplier(pool *pgxpool.Pool, p outcome.Publisher) *groupcommit.Committer[settlement, outcome.Applied] {
	return groupcommit.New(pool, groupcommit.Settings{
		GroupMax: eventsMax, Committers: 1, QueueMax: 8 * eventsMax,
		GroupLockWait: 50 * time.Millisecond, AloneLockWait: 2 * time.Second, CommitWait: 10 * time.Second,
	}, settler(p).apply)
}

// RunApplier commits until ctx ends. It must outlive Run.
func (e *Events) RunApplier(ctx context.Context) { e.applier.Run(ctx) }

// Run works until ctx ends, then finishes the events in hand.
func (e *Events) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { e.loop(ctx, "forgetting webhooks", forgetInterval, e.Forget) })
	for account, connector := range e.Accounts {
		if notifier, ok := connector.(provider.Notifier); ok {
			loops.Go(func() {
				e.loop(ctx, "webhooks of "+account, idleInterval, func(ctx context.Context) (int, error) {
					return e.workOffAt(ctx, account, notifier)
				})
			})
		}
	}
	loops.Wait()
}

// Forget is one round of removing bodies that nobody needs any more.
func (e *Events) Forget(ctx context.Context) (int, error) {
	return webhook.Forget(ctx, e.Pool, forgetMax)
}

// WorkOff is one round of all accounts' webhooks. It returns how many it took.
func (e *Events) WorkOff(ctx context.Context) (int, error) {
	total := 0
	for account, connector := range e.Accounts {
		notifier, ok := connector.(provider.Notifier)
		if !ok {
			continue
		}
		taken, err := e.workOffAt(ctx, account, notifier)
		total += taken
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// workOffAt is one round for one account, side by side, so that an event whose
// question is not answered holds up no other.
func (e *Events) workOffAt(ctx context.Context, account string, notifier provider.Notifier) (int, error) {
	connector := e.Accounts[account]
	if err := connector.Identify(ctx); err != nil {
		return 0, err // nothing is believed about an account that may be another one
	}
	lease := connector.Capabilities().Timeout + eventAllowance
	events, err := webhook.Take(ctx, e.Pool, account, eventsMax, lease)
	if err != nil {
		return 0, err
	}
	working := context.WithoutCancel(ctx) // what was taken is finished
	var works sync.WaitGroup
	for _, told := range events {
		works.Go(func() { e.workOff(working, told, notifier, lease) })
	}
	works.Wait()
	return len(events), nil
}

// workOff makes something of one event, or puts it back.
func (e *Events) workOff(ctx context.Context, told webhook.Event, notifier provider.Notifier, lease time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	log := e.Log.With(zap.String("provider_account", told.Account), zap.String("event_id", told.EventID), zap.String("event_type", told.Type))
	v, err := e.judge(ctx, told, notifier)
	var applied outcome.Applied
	if err == nil && v.State != webhook.Waiting {
		applied, err = e.applier.Do(ctx, v)
	}
	if err != nil {
		log.Warn("a webhook was not worked off; it comes again", zap.Error(err))
		v.State, v.Reason = webhook.Waiting, webhook.ReasonFailed
	}
	switch {
	case v.State == webhook.Waiting:
		if _, err := told.PutBack(ctx, e.Pool, provider.Backoff(eventDelayMin, eventDelayMax, told.Tries, rand.Float64()), v.Reason); err != nil {
			log.Warn("a webhook was not put back; it comes again when its lease ends", zap.Error(err))
		}
	case v.State == webhook.Person:
		log.Error("a webhook waits for a person", zap.String("reason", v.Reason))
	case applied.Contradiction:
		log.Error(outcome.ContradictionMessage, zap.Stringer("operation_id", applied.OperationID), zap.Stringer("case_id", applied.CaseID))
	}
}
