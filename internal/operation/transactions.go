package operation

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed mark_transactions.sql
var markTransactionsSQL string

//go:embed transactions_ended.sql
var transactionsEndedSQL string

// TransactionMark stands for all transactions that had written something when it was
// made. It means nothing in another database server, and is not stored.
type TransactionMark string

// MarkTransactions makes a mark, in a transaction of its own.
func MarkTransactions(ctx context.Context, q Querier) (TransactionMark, error) {
	return one[TransactionMark](ctx, q, markTransactionsSQL)
}

// Ended reports whether all of them have ended, so that what they wrote is there to be
// read.
func (m TransactionMark) Ended(ctx context.Context, q Querier) (bool, error) {
	return one[bool](ctx, q, transactionsEndedSQL, string(m))
}

func one[Value any](ctx context.Context, q Querier, sql string, args ...any) (Value, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		var none Value
		return none, fmt.Errorf("asking about transactions: %w", err)
	}
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[Value])
	if err != nil {
		return value, fmt.Errorf("asking about transactions: %w", err)
	}
	return value, nil
}
