package schema_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

// A caller that goes on after an error commits what it has, whichever statement failed.
func TestI1_P3_AKeyIsNotCommittedWithoutAllThatItStandsFor(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	w := newWorld(t, database.App)
	const key, payment, charge, history = 4, 0, 1, 5 // in accepted
	for name, c := range map[string]struct {
		statements []int
		whole      bool
	}{
		"a key alone":              {[]int{key}, false},
		"without a charge":         {[]int{key, payment}, false},
		"without a history":        {[]int{key, payment, charge}, false},
		"with another's history":   {[]int{key, payment, history}, false},
		"all of it":                {[]int{key, payment, charge, history}, true},
		"nothing, and no key then": {nil, true},
	} {
		args := pgx.NamedArgs{"merchant": w.args["merchant"], "payment": uuid.New(), "operation": uuid.New(), "invoice": name}
		err := pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) error {
			for _, i := range c.statements {
				_, err := tx.Exec(t.Context(), accepted[i], args)
				require.NoError(t, err)
			}
			return nil
		})
		requireWhole(t, name, c.whole, err)
	}
}

func TestI1_P3_TheKeysOfRefundsAndCancelsStandForSomethingToo(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	w := newWorld(t, database.App)
	const insert = `INSERT INTO idempotency_key (merchant_id, route, key, fingerprint, fields, resource_id)
		VALUES (@merchant, @route, @key, sha256(''), '{}', @resource)`
	for name, c := range map[string]struct {
		route    string
		resource any
		then     string
		whole    bool
	}{
		"a refund":             {"refunds", w.args["operation"], "", true},
		"a refund of nothing":  {"refunds", uuid.New(), "", false},
		"a cancel":             {"cancel", uuid.New(), `UPDATE idempotency_key SET status = 200, body = '' WHERE key = @key`, true},
		"an open cancel":       {"cancel", uuid.New(), "", false},
		"a key that is undone": {"payments", uuid.New(), `DELETE FROM idempotency_key WHERE key = @key`, true},
	} {
		args := pgx.NamedArgs{"merchant": w.args["merchant"], "route": c.route, "key": name, "resource": c.resource}
		err := pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), insert, args)
			if err == nil && c.then != "" {
				_, err = tx.Exec(t.Context(), c.then, args)
			}
			require.NoError(t, err)
			return nil
		})
		requireWhole(t, name, c.whole, err)
	}
}

func requireWhole(t *testing.T, name string, whole bool, err error) {
	t.Helper()
	if whole {
		require.NoError(t, err, name)
		return
	}
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused, name)
	require.Equal(t, "a_key_stands_for_something_whole", refused.ConstraintName, name)
}
