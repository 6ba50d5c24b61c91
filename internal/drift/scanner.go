package drift

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
)

// Scanner scans the accounts that it serves.
type Scanner struct {
	Pool     *pgxpool.Pool
	Accounts map[string]provider.Connector
	Applier  *outcome.Applier
	Asker    Asker
	Interval time.Duration // the least length of a window of the schedule
	Log      *zap.Logger
}

// Run scans until ctx ends, then finishes the step in hand. Accounts whose provider
// has no list are not scanned, which is said once.
func (s *Scanner) Run(ctx context.Context) {
	var loops sync.WaitGroup
	for account, connector := range s.Accounts {
		if _, ok := connector.(provider.Lister); !ok {
			s.Log.Warn("this account is not scanned for drift: its provider has no list", zap.String("provider_account", account))
			continue
		}
		loops.Go(func() { s.loop(ctx, account) })
	}
	loops.Wait()
}

func (s *Scanner) loop(ctx context.Context, account string) {
	for ctx.Err() == nil {
		pause := pollInterval/2 + rand.N(pollInterval)
		worked, err := s.Round(ctx, account)
		switch {
		case err != nil && ctx.Err() == nil:
			s.Log.Warn("drift scan waits", zap.String("provider_account", account), zap.Error(err))
			pause = errorPause
		case worked:
			continue
		}
		lifecycle.Wait(ctx, pause)
	}
}

// Round opens the account's scan that is due, takes an unfinished one and carries it as
// far as it comes. It reports false when there was nothing to do.
func (s *Scanner) Round(ctx context.Context, name string) (bool, error) {
	w, a, err := s.prepare(ctx, name)
	if err != nil {
		return false, err
	}
	if err := know(ctx, s.Pool, a); err != nil {
		return false, err
	}
	if err := openDue(ctx, s.Pool, a, s.Interval); err != nil {
		return false, err
	}
	var taken bool
	if w.scan, taken, err = take(ctx, s.Pool, a, uuid.Nil); err != nil || !taken {
		return false, err
	}
	return true, w.carryOn(ctx)
}

// Scan scans one window to its end, going on where an unfinished scan of the same
// window stands. It returns how far the scan came, also with an error. Errors: ErrTaken
// while another scanner works on it, and those of Preview.
func (s *Scanner) Scan(ctx context.Context, name string, window Window) (Scan, error) {
	if _, err := s.Preview(ctx, name, window); err != nil {
		return Scan{}, err
	}
	w, a, err := s.prepare(ctx, name)
	if err != nil {
		return Scan{}, err
	}
	if err := know(ctx, s.Pool, a); err != nil {
		return Scan{}, err
	}
	id, err := openWindow(ctx, s.Pool, a, window)
	if err != nil {
		return Scan{}, err
	}
	var taken bool
	w.scan, taken, err = take(ctx, s.Pool, a, id)
	if err == nil && !taken {
		err = fmt.Errorf("drift scan %s of %s: %w", id, name, ErrTaken)
	}
	if err != nil {
		return Scan{}, err
	}
	err = w.carryOn(ctx)
	if err == nil {
		err = ctx.Err() // nil when the scan is done
		if w.scan.Phase == Done {
			err = nil
		}
	}
	return w.scan, err
}

// prepare asks who the account is before anything is listed: a list of another account
// would be true, and about others' money.
func (s *Scanner) prepare(ctx context.Context, name string) (*work, account, error) {
	connector, served := s.Accounts[name]
	if !served {
		return nil, account{}, fmt.Errorf("the provider account %q is not configured", name)
	}
	lister, lists := connector.(provider.Lister)
	if !lists {
		return nil, account{}, fmt.Errorf("provider account %s: %w", name, ErrNoList)
	}
	if err := connector.Identify(ctx); err != nil {
		return nil, account{}, fmt.Errorf("provider account %s: %w", name, err)
	}
	a := account{name: name, identity: provider.AccountOf(connector.Recipe())}
	return &work{Scanner: s, connector: connector, lister: lister}, a, nil
}

// work is a scan in hand.
type work struct {
	*Scanner

	connector provider.Connector
	lister    provider.Lister
	scan      Scan
}

// carryOn takes step after step until the scan is done or ctx ends. A step that has
// begun is finished: it is short, and its request has a time limit of its own. In the
// end the scan is given back, so that the next scanner need not wait for the lease.
func (w *work) carryOn(ctx context.Context) (err error) {
	working := context.WithoutCancel(ctx)
	defer func() {
		if w.scan.Phase != Done && !errors.Is(err, ErrTaken) {
			err = errors.Join(err, w.scan.release(working, w.Pool))
		}
	}()
	for w.scan.Phase != Done && ctx.Err() == nil {
		if w.scan.Phase == Listing || w.scan.Phase == Asking {
			lifecycle.Wait(ctx, ReadInterval)
		}
		if err := w.step(working); err != nil {
			return err
		}
	}
	if w.scan.Phase == Done {
		w.Log.Info("drift scan is done", zap.String("provider_account", w.scan.ProviderAccount), zap.Time("from", w.scan.From),
			zap.Time("to", w.scan.To), zap.Int64("listed", w.scan.Listed), zap.Int64("told", w.scan.Told),
			zap.Int64("asked", w.scan.Asked), zap.Int64("found", w.scan.Found))
	}
	return nil
}

func (w *work) step(ctx context.Context) error {
	switch w.scan.Phase {
	case Listing:
		return w.list(ctx)
	case Recalling, Comparing:
		return w.compare(ctx)
	case Weighing:
		return w.weighNext(ctx)
	case Asking:
		return w.askNext(ctx)
	default:
		return fmt.Errorf("drift scan %s is in phase %q, which this version does not know", w.scan.ID, w.scan.Phase)
	}
}
