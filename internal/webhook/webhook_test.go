package webhook_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/simulated"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/webhook"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// inbox is a receiver on a database of its own.
type inbox struct {
	*testkit.Database
	receiver *webhook.Receiver
	logs     *observer.ObservedLogs
}

func newInbox(t *testing.T) inbox {
	t.Helper()
	connector, err := simulated.New(simulated.Full, "http://127.0.0.1:1", simulated.Options{})
	require.NoError(t, err)
	core, logs := observer.New(zap.InfoLevel)
	i := inbox{Database: testkit.NewDatabase(t), logs: logs}
	source := webhook.Source{Notifier: connector, Secrets: []string{secret}}
	i.receiver = webhook.NewReceiver(i.App, map[string]webhook.Source{"card": source, "card-b": source}, time.Now, zap.New(core))
	return i
}

func (i inbox) hears(t *testing.T, account, id, body string) {
	t.Helper()
	header := pspsim.Sign(secret, id, time.Now(), []byte(body))
	require.NoError(t, i.receiver.Receive(t.Context(), account, provider.Webhook{Header: header, Body: []byte(body)}))
}

func (i inbox) take(t *testing.T, limit int) []webhook.Event {
	t.Helper()
	events, err := webhook.Take(t.Context(), i.App, "card", limit, time.Minute)
	require.NoError(t, err)
	return events
}

func (i inbox) finish(t *testing.T, f ...webhook.Finished) (written int) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), i.App, func(tx pgx.Tx) error {
		ids, err := webhook.Finish(t.Context(), tx, f)
		written = len(ids)
		return err
	}))
	return written
}

func (i inbox) count(t *testing.T, sql string) (n int) {
	t.Helper()
	require.NoError(t, i.App.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func TestU8_AnotherBodyUnderAKnownIDIsKeptForAPersonAndTheFirstCounts(t *testing.T) {
	t.Parallel()
	i := newInbox(t)
	i.hears(t, "card", "evt_1", `{"type":"a"}`)
	i.hears(t, "card", "evt_1", `{"type":"a"}`)
	require.Zero(t, i.logs.Len())
	i.hears(t, "card", "evt_1", `{"type":"b"}`)
	i.hears(t, "card", "evt_1", `{"type":"b"}`)
	i.hears(t, "card-b", "evt_1", `{"type":"c"}`) // an id is its own account's
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM provider_event"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM provider_event_conflict WHERE convert_from(body, 'UTF8') = '{\"type\":\"b\"}'"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM provider_event WHERE conflicting AND event_type = 'a'"))
	require.NotZero(t, i.logs.FilterLevelExact(zap.ErrorLevel).Len())
	for _, e := range i.logs.All() {
		require.NotContains(t, e.ContextMap(), "body")
	}
}

func TestU8_TheSameWordInOtherBytesIsARepeat(t *testing.T) {
	t.Parallel()
	i := newInbox(t)
	captured := func(minor int64) string {
		body, err := json.Marshal(pspsim.Event{Type: "charge.captured", Timestamp: time.Unix(1, 0).UTC(), Data: pspsim.Movement{
			ID: "ch_1", Kind: "charge", Reference: "r", Status: pspsim.StatusCaptured, AmountMinor: minor, Currency: "TRY",
			CreatedAt: time.Unix(1, 0).UTC(),
		}})
		require.NoError(t, err)
		return string(body)
	}
	first := captured(1000)
	i.hears(t, "card", "evt_1", first)
	i.hears(t, "card", "evt_1", strings.Replace(first, `"timestamp"`, `"deliveries":2,"timestamp"`, 1))
	require.Zero(t, i.count(t, "SELECT count(*) FROM provider_event_conflict"))
	require.Zero(t, i.logs.Len())
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM provider_event WHERE says IS NOT NULL"))
	i.hears(t, "card", "evt_1", captured(1001))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM provider_event_conflict"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM provider_event WHERE conflicting"))
}

func TestU8_AnIDThatNobodyCouldStoreDoesNotLoseTheEvent(t *testing.T) {
	t.Parallel()
	i := newInbox(t)
	for _, id := range []string{"evt\xff", strings.Repeat("x", 300)} {
		body := `{"type":"a\u0000b"}`
		header := pspsim.Sign(secret, id, time.Now(), []byte(body))
		for range 2 {
			require.NoError(t, i.receiver.Receive(t.Context(), "card", provider.Webhook{Header: header, Body: []byte(body)}))
		}
	}
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM provider_event WHERE event_id LIKE 'sha256:%' AND event_type = ''"))
}

func TestU8_AnEventIsTakenByOneAndComesBackWhenItsTakerDied(t *testing.T) {
	t.Parallel()
	i := newInbox(t)
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		i.hears(t, "card", id, `{"type":"a"}`)
	}
	first := i.take(t, 2)
	require.Equal(t, []string{"evt_1", "evt_2"}, []string{first[0].EventID, first[1].EventID}, "those that waited longest")
	require.Len(t, i.take(t, 10), 1)
	require.Empty(t, i.take(t, 10))

	i.SetNow(t, 2*time.Minute)
	again := i.take(t, 10)
	require.Len(t, again, 3)
	require.Equal(t, 2, again[0].Tries)
	require.Zero(t, i.finish(t, webhook.Finished{Event: first[0], State: webhook.Applied}), "its lease is over: nothing may follow")
	put, err := first[0].PutBack(t.Context(), i.App, time.Second, "late")
	require.NoError(t, err)
	require.False(t, put)
	require.Equal(t, 3, i.finish(t, webhook.Finished{Event: again[0], State: webhook.Applied}, webhook.Finished{Event: again[1], State: webhook.Ignored},
		webhook.Finished{Event: again[2], State: webhook.Person, Reason: webhook.ReasonUnreadable}))
	i.SetNow(t, time.Hour)
	require.Empty(t, i.take(t, 10))
}

func TestU8_OldBodiesAreForgottenAndHashesStay(t *testing.T) {
	t.Parallel()
	i := newInbox(t)
	for _, id := range []string{"evt_done", "evt_person", "evt_waiting"} {
		i.hears(t, "card", id, `{"type":"a"}`)
	}
	taken := i.take(t, 2)
	i.finish(t, webhook.Finished{Event: taken[0], State: webhook.Applied},
		webhook.Finished{Event: taken[1], State: webhook.Person, Reason: webhook.ReasonOtherKind})
	i.SetNow(t, webhook.BodyKeep-time.Minute)
	forgotten, err := webhook.Forget(t.Context(), i.App, 10)
	require.NoError(t, err)
	require.Zero(t, forgotten)
	i.SetNow(t, webhook.BodyKeep+time.Minute)
	forgotten, err = webhook.Forget(t.Context(), i.App, 10)
	require.NoError(t, err)
	require.Equal(t, 1, forgotten)
	require.Equal(t, 1, i.count(t, `SELECT count(*) FROM provider_event
		WHERE event_id = 'evt_done' AND body IS NULL AND headers IS NULL AND length(hash) = 32`))
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM provider_event WHERE body IS NOT NULL"))
}

func TestU8_ABodyUnderAKnownIDIsForgottenToo(t *testing.T) {
	t.Parallel()
	i := newInbox(t)
	i.hears(t, "card", "evt_1", `{"type":"a"}`)
	i.hears(t, "card", "evt_1", `{"type":"b"}`)
	i.SetNow(t, webhook.BodyKeep+time.Minute)
	for _, want := range []int{1, 0} {
		forgotten, err := webhook.Forget(t.Context(), i.App, 10)
		require.NoError(t, err)
		require.Equal(t, want, forgotten)
	}
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM provider_event_conflict WHERE body IS NULL AND headers IS NULL AND length(hash) = 32"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM provider_event WHERE body IS NOT NULL"), "it still waits")
}

func TestU8_TheDatabaseRefusesToRewriteWhatAProviderSaid(t *testing.T) {
	t.Parallel()
	i := newInbox(t)
	i.hears(t, "card", "evt_1", `{"type":"a"}`)
	i.hears(t, "card", "evt_1", `{"type":"b"}`)
	i.finish(t, webhook.Finished{Event: i.take(t, 1)[0], State: webhook.Applied})
	for _, sql := range []string{
		"UPDATE provider_event SET body = '{}'",
		"UPDATE provider_event SET headers = '{}'",
		"UPDATE provider_event SET state = 'waiting', next_try_at = payonce_now(), done_at = NULL",
		"UPDATE provider_event SET tries = 0",
		"DELETE FROM provider_event",
		"UPDATE provider_event_conflict SET body = '{}'",
		"DELETE FROM provider_event_conflict",
	} {
		_, err := i.Owner.Exec(t.Context(), sql)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, sql)
		require.Equal(t, "23001", refused.Code, sql)
	}
	for _, sql := range []string{
		"UPDATE provider_event SET provider_account = 'card-b'", "UPDATE provider_event SET hash = hash", "DELETE FROM provider_event",
	} {
		_, err := i.App.Exec(context.WithoutCancel(t.Context()), sql)
		require.ErrorContains(t, err, "permission denied", sql)
	}
}

// Whoever applies an answer locks keys first and operations last. An event's row comes
// before both, so what is written into it must not lock an operation (P2).
func TestU8_P2_AnEventThatIsFinishedLocksNoOperation(t *testing.T) {
	t.Parallel()
	i := newInbox(t)
	about := fixture.Accept(t, i.App)
	i.hears(t, "card", "evt_1", `{"type":"a"}`)
	taken := i.take(t, 1)
	require.NoError(t, pgx.BeginFunc(t.Context(), i.App, func(tx pgx.Tx) error {
		written, err := webhook.Finish(t.Context(), tx, []webhook.Finished{{Event: taken[0], State: webhook.Applied, OperationID: about.OperationID}})
		require.Len(t, written, 1)
		if err != nil {
			return err
		}
		_, err = i.App.Exec(t.Context(), "SELECT FROM operation WHERE id = $1 FOR UPDATE NOWAIT", about.OperationID)
		return err
	}))
}
