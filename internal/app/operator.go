package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/outcome"
)

// ErrRefused says that a decision is not possible as things stand. Nothing was done.
var ErrRefused = errors.New("refused")

// Operator is somebody at payctl who decides something.
type Operator struct {
	By      string // the person's name
	Reason  string // in the person's own words
	Execute bool   // do it, instead of trying it out and taking it back
}

// desk is what the commands about waiting operations and cases work with.
type desk struct {
	pool      *pgxpool.Pool
	publisher outcome.Publisher
}

func openDesk(ctx context.Context, environ []string) (desk, error) {
	c, err := config.Load[config.OperatorTool](environ)
	if err != nil {
		return desk{}, err
	}
	pool, err := toolPool(ctx, c.DatabaseURL, 2)
	if err != nil {
		return desk{}, err
	}
	return desk{pool: pool, publisher: publisher(c.Topics, c.Cell)}, nil
}

func (d desk) close() { d.pool.Close() }

// within runs a decision in a transaction, which is taken back unless it is to be
// executed. So what a dry run says is what the database answered, its guards included;
// those that look when a transaction ends are made to look at once.
func (d desk) within(ctx context.Context, execute bool, decide func(pgx.Tx) error) error {
	tx, err := d.pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("beginning a decision: %w", err)
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackWait)
		defer cancel()
		_ = tx.Rollback(ending) // nothing to roll back after a commit
	}()
	if err := decide(tx); err != nil {
		return err
	}
	if execute {
		return tx.Commit(ctx)
	}
	if _, err := tx.Exec(ctx, "SET CONSTRAINTS ALL IMMEDIATE"); err != nil {
		return fmt.Errorf("trying a decision out: %w", err)
	}
	return nil
}

// rollbackWait bounds giving the locks of a dry run back.
const rollbackWait = 5 * time.Second
