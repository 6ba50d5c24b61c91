package httpapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

func (a answer) requireUnavailable(t *testing.T) {
	t.Helper()
	require.Equal(t, http.StatusServiceUnavailable, a.status, "%s", a.body)
	p := a.problem(t)
	require.Equal(t, "urn:payonce:problem:unavailable", p.Type)
	require.True(t, p.Retryable)
	require.Equal(t, "1", a.header.Get("Retry-After"))
}

func TestI14_WithoutPostgreSQLNothingIsHalfWrittenAndItRecoversByItself(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	wire, url := newWire(t, database.AppURL)
	d := openDoor(t, database, openPool(t, url))
	first := d.post(t, "k-1", order("INV-1", `"10.00"`))
	require.Equal(t, http.StatusAccepted, first.status)

	wire.setDown(true)
	for range 3 {
		d.post(t, "k-2", order("INV-2", `"10.00"`)).requireUnavailable(t)
		d.get(t, first.header.Get("Location"), d.key).requireUnavailable(t)
	}
	for _, a := range atOnce(t, 100, func(int) answer { return d.post(t, "k-3", order("INV-3", `"10.00"`)) }) {
		a.requireUnavailable(t)
	}
	require.Equal(t, payments(1), d.stored(t))

	wire.setDown(false)
	d.postUntilAccepted(t, "k-2", order("INV-2", `"10.00"`))
	d.postUntilAccepted(t, "k-3", order("INV-3", `"10.00"`))
	require.Equal(t, payments(3), d.stored(t))
}

// postUntilAccepted is a client that does what the answer says. Some connections
// of the pool may still be broken ones.
func (d *door) postUntilAccepted(t *testing.T, key, body string) answer {
	t.Helper()
	for {
		a := d.post(t, key, body)
		if a.status == http.StatusAccepted {
			return a
		}
		a.requireUnavailable(t)
	}
}

func TestI14_ADatabaseThatAllowsNoConnectionsIsAnOutage(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	wire, url := newWire(t, database.AppURL)
	d := openDoor(t, database, openPool(t, url))
	superuser, err := pgx.Connect(t.Context(), testkit.SuperuserURL(t))
	require.NoError(t, err)
	defer superuser.Close(context.Background())
	name := pgx.Identifier{database.App.Config().ConnConfig.Database}.Sanitize()
	allow := func(allowed string) {
		_, err := superuser.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS "+allowed)
		require.NoError(t, err)
	}
	allow("false")
	wire.setDown(true) // new connections are needed
	wire.setDown(false)
	d.post(t, "k-1", order("INV-1", `"10.00"`)).requireUnavailable(t)
	allow("true")
	d.postUntilAccepted(t, "k-1", order("INV-1", `"10.00"`))
	require.Equal(t, payments(1), d.stored(t))
}

func TestI14_ACommitWhoseAnswerIsLostIsFoundByTheRepeat(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	wire, url := newWire(t, database.AppURL)
	d := openDoor(t, database, openPool(t, url))
	wire.cutNextCommit()
	d.post(t, "k-1", order("INV-1", `"10.00"`)).requireUnavailable(t)
	require.Equal(t, payments(1), d.stored(t), "it was committed, and nobody here could know")

	again := d.postUntilAccepted(t, "k-1", order("INV-1", `"10.00"`))
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.Equal(t, payments(1), d.stored(t))
}

func TestAClientThatLeavesTakesNobodyWithItAndFindsItsPaymentLater(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	// The invoice is held, so that the request waits in the database.
	library, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = library.Rollback(context.Background()) }()
	d.acceptIn(t, library, "other", "INV-1")
	leaving, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r := d.request(t, "k-1", order("INV-1", `"10.00"`)).WithContext(leaving)
	_, err = d.client.Do(r) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, http.StatusAccepted, d.post(t, "k-2", order("INV-2", `"10.00"`)).status)
	require.NoError(t, library.Rollback(t.Context()))
	// The abandoned request may hold the key still.
	require.Equal(t, http.StatusAccepted, d.postPatiently(t, "k-1", order("INV-1", `"10.00"`)).status)
	require.Equal(t, payments(2), d.stored(t))
}
