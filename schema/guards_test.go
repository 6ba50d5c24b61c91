package schema_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/payment"
)

// guard is one thing that the database refuses, and the closest thing to it that
// it accepts: a guard that refuses everything would pass the first half only.
type guard struct {
	name    string
	given   []string // what has happened before; all of it is accepted
	refused string
	because string // the constraint's name, or the SQLSTATE where none is named
	// proof makes the refused statement acceptable.
	proof []string
	// instead is accepted where no proof could help.
	instead string
}

// The SQLSTATEs of refusals without a constraint's name.
const (
	noRight    = "42501" // insufficient_privilege
	appendOnly = "23001" // restrict_violation
)

// The case of a first attempt under way.
func claimed(more ...string) []string {
	return append([]string{recorded(1, 0), leased("processing", 1, 0)}, more...)
}

func succeeded(more ...string) []string {
	return claimed(append([]string{captured.sql(), succeed}, more...)...)
}

func failed(more ...string) []string {
	return claimed(append([]string{
		evidence{source: "answer", verdict: "declined", fence: 1}.sql(),
		`UPDATE operation SET state = 'failed', lease_until = NULL WHERE id = @operation`, shown("failed"),
	}, more...)...)
}

// twice is a second attempt under way within unknown, the first one unproven.
func twice(more ...string) []string {
	return claimed(append([]string{moved("unknown"), recorded(2, 100), leased("unknown", 2, 100)}, more...)...)
}

func TestP3_TheDatabaseRefusesWhatNoEvidenceSupports(t *testing.T) { //nolint:tparallel // cases make the same accounts and would wait for each other
	t.Parallel()
	database := testkit.NewDatabase(t)
	for _, g := range slices.Concat(captures(), failures(), returns(), claims(), births(), fixed(), books(), identities(), answers(), keys(),
		adoptions(), cases(), compensations(), casePostings(), refunds(), epochs(), statements()) {
		t.Run(g.name, func(t *testing.T) {
			w := newWorld(t, database.App)
			tx, err := database.App.Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(t.Context()) }()
			w.happens(t, tx, g.given...)
			w.isRefused(t, tx, g.refused, g.because)
			w.happens(t, tx, g.proof...)
			if g.instead == "" {
				g.instead = g.refused
			}
			w.happens(t, tx, g.instead)
		})
	}
}

// happens runs statements that the database must accept; each changes a row.
func (w world) happens(t *testing.T, tx pgx.Tx, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		tag, err := tx.Exec(t.Context(), statement, w.args)
		require.NoError(t, err, "%s", statement)
		require.NotZero(t, tag.RowsAffected(), "%s", statement)
	}
}

// isRefused runs one statement in a savepoint.
func (w world) isRefused(t *testing.T, tx pgx.Tx, statement, because string) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), statement, w.args)
		return err
	})
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused, "accepted: %s", statement)
	require.Contains(t, []string{refused.ConstraintName, refused.Code}, because, "%v", err)
}

func TestTheArrowsInGoAreThoseInTheDatabase(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	rows, err := database.App.Query(t.Context(), "SELECT from_state, to_state FROM operation_arrow")
	require.NoError(t, err)
	stored, err := pgx.CollectRows(rows, pgx.RowToStructByPos[payment.Arrow])
	require.NoError(t, err)
	require.ElementsMatch(t, payment.Arrows(), stored)
}

// The application's role owns nothing, so it can neither remove a guard nor
// change the table of arrows.
func TestP3_TheApplicationCannotGetAroundTheGuards(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	for _, statement := range []string{
		"INSERT INTO operation_arrow (from_state, to_state) VALUES ('failed', 'succeeded')",
		"ALTER TABLE operation DISABLE TRIGGER ALL",
		"DROP TRIGGER operation_move_is_proven ON operation",
		"CREATE OR REPLACE FUNCTION payonce_now() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
		"CREATE FUNCTION uncovered_attempts(text) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'",
		"SET session_replication_role = replica",
		"SET ROLE payonce_owner",
	} {
		_, err := database.App.Exec(t.Context(), statement)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, "accepted: %s", statement)
		require.Equal(t, noRight, refused.Code, "%s: %v", statement, err)
	}
}

// A temporary table hides a table of the same name, and by PostgreSQL's default
// anyone may make one: the guards must not look for proof there.
func TestP3_AGuardIsNotFooledByATemporaryTable(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	_, err := database.Owner.Exec(t.Context(), `DO $$ BEGIN
		EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO payonce_app', current_database());
	END $$`)
	require.NoError(t, err)
	w := newWorld(t, database.App)
	tx, err := database.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	w.happens(t, tx, append(claimed(), accounts)...)
	for _, table := range []string{"evidence", "attempt", "operation_arrow", "payment", "operation"} {
		_, err := tx.Exec(t.Context(), "CREATE TEMPORARY TABLE "+table+" AS TABLE public."+table)
		require.NoError(t, err)
	}
	w.happens(t, tx, captured.sql(), // into the temporary table
		"UPDATE operation SET state = 'succeeded'", "UPDATE payment SET state = 'failed'")
	for _, state := range []string{"succeeded", "failed", "pending", "created"} {
		move := "UPDATE public.operation SET state = '" + state + "', lease_until = NULL WHERE id = @operation"
		w.isRefused(t, tx, move, "operation_move_is_proven")
	}
	w.isRefused(t, tx, "UPDATE public.payment SET state = 'captured' WHERE id = @payment", "a_payment_shows_its_charge")
	w.isRefused(t, tx, "DELETE FROM invoice_identity WHERE payment_id = @payment", "a_live_payment_keeps_its_identity")
	w.isRefused(t, tx, "DELETE FROM idempotency_key WHERE resource_id = @payment", "an_open_payment_keeps_its_key")
	w.isRefused(t, tx, posting(1000, "TRY"), "a_posting_books_what_moved")
	_, err = tx.Exec(t.Context(), "DROP TABLE pg_temp.evidence, pg_temp.operation, pg_temp.payment")
	require.NoError(t, err)
	w.happens(t, tx, captured.sql(), succeed, shown("captured"), posting(1000, "TRY"))
}

// Append-only holds for the owner of the tables too: a mistake in a migration or
// in a console must not rewrite what was seen.
func TestP4_AppendOnlyTablesRefuseTheirOwnerToo(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	for _, table := range []string{"ledger_entry", "evidence", "payment_history"} {
		for _, statement := range []string{
			"UPDATE " + table + " SET operation_id = gen_random_uuid()",
			"DELETE FROM " + table,
			"TRUNCATE " + table,
			"TRUNCATE " + table + " CASCADE",
		} {
			_, err := database.Owner.Exec(t.Context(), statement)
			var refused *pgconn.PgError
			require.ErrorAs(t, err, &refused, "accepted: %s", statement)
			require.Equal(t, appendOnly, refused.Code, "%s: %v", statement, err)
		}
	}
}
