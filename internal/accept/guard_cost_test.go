package accept

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The database looks at each key when it is committed. It plans that once, for as long
// as a connection lives, and here before there is any payment but the first.
func TestI1_TheLookAtACommittedKeyReadsNoOtherPayments(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	const count = 192
	require.NoError(t, pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SET LOCAL plan_cache_mode = force_generic_plan")
		require.NoError(t, err)
		look := func() (read int) {
			const rowsRead = `SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables
				WHERE relname IN ('operation', 'payment_history', 'payment')`
			var before int
			require.NoError(t, tx.QueryRow(t.Context(), rowsRead).Scan(&before))
			_, err := tx.Exec(t.Context(), "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
			require.NoError(t, err)
			require.NoError(t, tx.QueryRow(t.Context(), rowsRead).Scan(&read))
			return read - before
		}
		for i := range count {
			_, err := d.rules.Accept(t.Context(), tx, []Request{d.order(t, fmt.Sprint("k-", i), fmt.Sprint("INV-", i))})
			require.NoError(t, err)
			if i == 0 {
				look()
			}
		}
		require.LessOrEqual(t, look(), 2*count, "its operation and its history")
		return nil
	}))
}
