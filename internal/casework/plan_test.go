package casework_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
)

// Every outcome looks for the cases of its operation. A plan is made once, when the tables
// may be empty, and used for as long as its connection lives.
func TestClosedCasesCostNothing(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	open := mismatched(t, db.App)
	p := fixture.Accept(t, db.App)
	conn, err := db.App.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	execute := map[string]string{
		"of_operations": fmt.Sprintf("EXECUTE of_operations ('{%s, %s}', '{}')", open.OperationID, uuid.New()),
		"list":          fmt.Sprintf("EXECUTE list (false, '', NULL, '', '%s', 100)", uuid.Nil),
	}
	_, err = conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan")
	require.NoError(t, err)
	for name, run := range execute {
		statement, err := os.ReadFile(name + ".sql")
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "PREPARE "+name+" AS "+string(statement))
		require.NoError(t, err)
		require.Equal(t, int64(1), rows(t, conn, run), name)
	}
	_, err = db.Owner.Exec(t.Context(), "ALTER TABLE payment_case DISABLE TRIGGER USER")
	require.NoError(t, err)
	_, err = db.Owner.Exec(t.Context(), `INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id,
			suspended, plan, state, resolution, waits_for)
		SELECT gen_random_uuid(), $1, $2, 'captured_twice', 'card', 'ch_' || n, false, 'person', 'resolved', 'refunded', 'machine'
		FROM generate_series(1, 20000) n`, p.PaymentID, p.OperationID)
	require.NoError(t, err)
	for name, run := range execute {
		require.Equal(t, int64(1), rows(t, conn, run), name)
		var explained string
		var hit, read int
		require.NoError(t, conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+run).Scan(&explained))
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT ($1::jsonb #>> '{0,Plan,Shared Hit Blocks}')::int,
			($1::jsonb #>> '{0,Plan,Shared Read Blocks}')::int`, explained).Scan(&hit, &read))
		require.Less(t, hit+read, 30, "%s: %s", name, explained)
	}
}

func rows(t *testing.T, conn *pgxpool.Conn, statement string) int64 {
	t.Helper()
	tag, err := conn.Exec(t.Context(), statement)
	require.NoError(t, err)
	return tag.RowsAffected()
}
