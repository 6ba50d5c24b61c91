// Package reconcile finds out what nobody knows.
//
//	expired leases ──> unknown ──ask the provider──> outcome
//	                              └──not there──> resend order ──> worker
//	                                          └──> door closed ──> failed
//
// Its promise: nothing is ever resent blindly, and nothing is given up. Every
// operation that may have been sent and whose result is not proven has an age, a
// next look, and an owner; what is done at a look is derived from what the
// provider declares (provider.Next) and from nothing else. The reconciler sends
// no money-moving request but the one that closes the door.
//
// Several reconcilers share the work: takeovers and looks are conditional
// updates in PostgreSQL.
package reconcile

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
)

const (
	// takeoverGroupMax operations are taken over in one transaction.
	takeoverGroupMax = 200
	// looksMax bounds the questions in flight at one provider account.
	looksMax = 32
	// idleInterval is the pause between rounds that found little.
	idleInterval = 100 * time.Millisecond
	// expireInterval is how often chargeBefore is looked at. It is a limit of
	// sends, which the workers hold to the instant; here only the books follow.
	expireInterval = time.Second
	// errorPause keeps a reconciler from hammering a database that is down.
	errorPause = time.Second
	// lookAllowance is what a look may take beyond the provider's timeouts of its
	// two questions, before another reconciler looks too.
	lookAllowance = 5 * time.Second
)

// Reconciler works for the accounts that it serves.
type Reconciler struct {
	Pool      *pgxpool.Pool
	Accounts  map[string]provider.Connector
	Publisher outcome.Publisher
	Applier   *outcome.Applier
	Log       *zap.Logger
}

// Run works until ctx ends, then finishes the looks in hand.
func (r *Reconciler) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { r.loop(ctx, "taking over leases", idleInterval, r.TakeOver) })
	loops.Go(func() { r.loop(ctx, "expiring", expireInterval, r.Expire) })
	for account := range r.Accounts {
		loops.Go(func() {
			r.loop(ctx, "looking at "+account, idleInterval, func(ctx context.Context) (int, error) { return r.lookAt(ctx, account) })
		})
		loops.Go(func() {
			r.loop(ctx, "cases of "+account, caseInterval, func(ctx context.Context) (int, error) { return r.carryOutAt(ctx, account) })
		})
	}
	loops.Wait()
}

// loop repeats a bounded step, at once while it finds work.
func (r *Reconciler) loop(ctx context.Context, doing string, interval time.Duration, step func(context.Context) (int, error)) {
	for ctx.Err() == nil {
		found, err := step(ctx)
		pause := interval/2 + rand.N(interval)
		switch {
		case err != nil && ctx.Err() == nil:
			r.Log.Warn("reconciler waits", zap.String("doing", doing), zap.Error(err))
			pause = errorPause
		case found > 0:
			continue
		}
		lifecycle.Wait(ctx, pause)
	}
}

// TakeOver is one round of taking over leases that ran out. It returns how many.
func (r *Reconciler) TakeOver(ctx context.Context) (int, error) {
	var taken []outcome.Applied
	err := pgx.BeginFunc(ctx, r.Pool, func(tx pgx.Tx) error {
		var err error
		taken, err = r.Publisher.TakeOver(ctx, tx, r.served(), takeoverGroupMax)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, t := range taken {
		r.Log.Info("lease taken over", zap.Stringer("operation_id", t.OperationID), zap.Int64("fence", t.Fence))
	}
	return len(taken), nil
}

// Expire is one round of failing what was not sent before its last moment. It
// returns how many operations it failed.
func (r *Reconciler) Expire(ctx context.Context) (int, error) {
	var expired []outcome.Applied
	var doorOpen []operation.Locked
	err := pgx.BeginFunc(ctx, r.Pool, func(tx pgx.Tx) error {
		var err error
		expired, doorOpen, err = r.Publisher.Expire(ctx, tx, r.served(), takeoverGroupMax)
		return err
	})
	if err != nil {
		return 0, err
	}
	var closing errgroup.Group
	closing.SetLimit(looksMax)
	for _, l := range doorOpen {
		closing.Go(func() error { return r.closeExpired(ctx, l) })
	}
	return len(expired), closing.Wait()
}

// Look is one round of asking about operations of all accounts whose next look is
// due. It returns how many it looked at.
func (r *Reconciler) Look(ctx context.Context) (int, error) {
	total := 0
	for account := range r.Accounts {
		looked, err := r.lookAt(ctx, account)
		total += looked
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// lookAt is one round for one account. Each account has a loop of its own, so that
// a provider that does not answer holds up nobody else's questions.
func (r *Reconciler) lookAt(ctx context.Context, account string) (int, error) {
	if err := r.Accounts[account].Identify(ctx); err != nil {
		return 0, err // nothing is asked of an account that may be another one
	}
	checks, err := operation.TakeChecks(ctx, r.Pool, []string{account}, looksMax, r.lookLease(account))
	if err != nil {
		return 0, err
	}
	// What was taken is looked at, also when the process stops: each question has
	// a time limit of its own.
	asking := context.WithoutCancel(ctx)
	var looks sync.WaitGroup
	for _, c := range checks {
		looks.Go(func() {
			if err := r.look(asking, c); err != nil {
				r.Log.Warn("look failed; it comes again", zap.Stringer("operation_id", c.OperationID), zap.Error(err))
			}
		})
	}
	looks.Wait()
	return len(checks), nil
}

// lookLease is how long a look is this reconciler's alone.
func (r *Reconciler) lookLease(account string) time.Duration {
	return 2*r.Accounts[account].Capabilities().Timeout + lookAllowance
}

func (r *Reconciler) served() []string {
	accounts := make([]string, 0, len(r.Accounts))
	for account := range r.Accounts {
		accounts = append(accounts, account)
	}
	return accounts
}
