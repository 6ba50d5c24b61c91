// Package operation owns payments and the operations that move their money.
//
//	accept ──> created ──claim──> processing ──> outcome
//	                ▲                 │ lease ran out
//	                └── due list      └──> unknown ──> resend order
//
// Its promise: at any moment at most one worker may send an operation, and only
// after the attempt row that says so has committed. Each move is conditional on
// the state and the fence that were read under the row's lock, and an update
// that touches fewer rows than it was asked to is an error, never silence.
//
// Lock order, here and for everyone who calls in: inbox and keys, identity,
// payment, operation, accounts; each set sorted by id. Every time is the
// database's (payonce_now). The caller owns the transaction and its commit.
//
// The package moves rows; what evidence proves is decided in outcome, and again
// by the triggers in schema/migrations.
package operation

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrMoved is returned when a row was not where the caller had read it under
// lock. It means a bug or a lost lock: roll back and do nothing.
var ErrMoved = errors.New("an operation was not where it had been read")

// Querier is what reads need: a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}
