package proof_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

// An intake dies around the commit of a payment, before its client has heard anything.
// The client asks the next one, with the key that it has: it must get its payment, one
// payment, and no "being worked on" for ever.
func TestP6_I4_AKeyOfAnIntakeThatWasKilledAroundItsCommitStandsForOnePayment(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	processes := build(t, []string{"PAYONCE_DATABASE_URL=" + db.AppURL, "PAYONCE_PROVIDER=card=simulated"})
	apiKey := processes.merchant()
	for name, before := range map[string]bool{"before-the-commit": true, "between-the-commit-and-the-answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			between := newStall(t, db.AppURL, moment{statement: "INSERT INTO idempotency_key", before: before})
			address := freeAddress(t)
			dying := processes.service("intake", "PAYONCE_DATABASE_URL="+between.url, "PAYONCE_HTTP_ADDR="+address)
			failed := make(chan error, 1)
			go func() {
				_, err := client{address, apiKey}.post(context.Background(), name, "key-"+name)
				failed <- err
			}()
			between.await(t)
			stored := func() (id string) {
				require.NoError(t, db.App.QueryRow(t.Context(), "SELECT coalesce(max(id::text), '') FROM payment WHERE invoice_id = $1", name).Scan(&id))
				return id
			}
			if !before {
				require.Eventually(t, func() bool { return stored() != "" }, patience, time.Millisecond, "the commit took place")
			}
			first := stored()
			dying.kill()
			between.release()
			require.Error(t, <-failed, "nobody answered")

			address = freeAddress(t)
			processes.service("intake", "PAYONCE_HTTP_ADDR="+address)
			next := client{address, apiKey}
			var again answer
			require.Eventually(t, func() (answered bool) { // the server rolls back when it notices that nobody is there
				var err error
				again, err = next.post(t.Context(), name, "key-"+name)
				require.NoError(t, err)
				return again.status != http.StatusConflict && again.status != http.StatusServiceUnavailable
			}, patience, 50*time.Millisecond)
			require.Equal(t, http.StatusAccepted, again.status)
			require.Equal(t, stored(), again.body.ID)
			if !before {
				require.Equal(t, first, again.body.ID)
			}
			other, err := next.post(t.Context(), name, "another-key-"+name)
			require.NoError(t, err)
			require.Equal(t, http.StatusConflict, other.status, "the invoice has its payment")
			var payments, operations, asked int
			require.NoError(t, db.App.QueryRow(t.Context(), `SELECT count(DISTINCT p.id), count(DISTINCT o.id), count(DISTINCT x.seq)
				FROM payment p JOIN operation o ON o.payment_id = p.id JOIN outbox x ON x.key = p.id WHERE p.invoice_id = $1`, name).
				Scan(&payments, &operations, &asked))
			require.Equal(t, []int{1, 1, 1}, []int{payments, operations, asked})
		})
	}
}
