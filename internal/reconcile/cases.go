package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/casework"
)

const (
	// caseInterval is how often due cases are looked for. They are rare, and nobody
	// waits for their next step.
	caseInterval = time.Second
	// casesMax cases of one account are carried out side by side.
	casesMax = 8
	// caseLease is how long a step is one reconciler's alone. It is one short
	// transaction; what it orders is sent by the workers.
	caseLease = 30 * time.Second
)

// CarryOut is one round of taking the next steps of cases of all accounts: adopting
// late money, or ordering its refund. It returns how many it took.
func (r *Reconciler) CarryOut(ctx context.Context) (int, error) {
	total := 0
	for account := range r.Accounts {
		taken, err := r.carryOutAt(ctx, account)
		total += taken
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// carryOutAt is one round for one account. Each case is a transaction of its own, so
// that one which cannot be carried out holds up no other; it comes again.
func (r *Reconciler) carryOutAt(ctx context.Context, account string) (int, error) {
	due, err := casework.TakeDue(ctx, r.Pool, []string{account}, casesMax, caseLease)
	if err != nil {
		return 0, err
	}
	var steps sync.WaitGroup
	for _, d := range due {
		steps.Go(func() { r.carryOut(context.WithoutCancel(ctx), account, d) })
	}
	steps.Wait()
	return len(due), nil
}

func (r *Reconciler) carryOut(ctx context.Context, account string, d casework.Due) {
	ctx, cancel := context.WithTimeout(ctx, caseLease)
	defer cancel()
	fields := []zap.Field{zap.Stringer("case_id", d.CaseID), zap.Stringer("operation_id", d.OperationID)}
	var after casework.Case
	err := pgx.BeginFunc(ctx, r.Pool, func(tx pgx.Tx) error {
		var err error
		after, err = r.Publisher.CarryOut(ctx, tx, d, r.Accounts[account].Capabilities())
		return err
	})
	switch {
	case errors.Is(err, casework.ErrMoved): // somebody decided meanwhile
	case err != nil:
		r.Log.Warn("step of a case failed; it comes again", append(fields, zap.Error(err))...)
	default:
		r.Log.Info("case carried on", append(fields, zap.String("state", string(after.State)), zap.String("plan", string(after.Plan)))...)
	}
}
