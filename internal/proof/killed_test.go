package proof_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
)

const payments = 1000

// stage is everything that runs in TestP1….
type stage struct {
	*processes
	t        *testing.T
	db       *testkit.Database
	broker   testkit.Broker
	simURL   string
	client   client
	consumer *kgo.Client
	seen     map[string]int // event id to how often it was on the events or the requests topic
	held     []answer       // the payments that the killed relay had in hand
	refunds  map[string]bool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, db: testkit.NewDatabase(t), broker: testkit.RealBroker(t), seen: map[string]int{}}
	simAddress, httpAddress := freeAddress(t), freeAddress(t)
	s.simURL = "http://" + simAddress
	s.processes = build(t, []string{
		"PAYONCE_DATABASE_URL=" + s.db.AppURL,
		"PAYONCE_KAFKA_BROKERS=" + strings.Join(s.broker.Addrs, ","),
		"PAYONCE_TOPIC_PREFIX=" + strings.TrimSuffix(s.broker.Topics.Requests, ".requests"),
		"PAYONCE_HTTP_ADDR=" + httpAddress,
		"PAYONCE_PROVIDER=card=simulated",
		"PAYONCE_PROVIDER_URL=" + s.simURL,
		"PAYONCE_PROVIDER_TIMEOUT=2s",
		"PAYONCE_LEASE=5s",
		"PAYONCE_PSPSIM_ADDR=" + simAddress,
	})
	s.start("pspsim")
	admin := freeAddress(t)
	s.ready(s.start("intake", "PAYONCE_ADMIN_ADDR="+admin), admin)
	s.client = client{address: httpAddress, apiKey: s.merchant()}
	s.consumer = s.broker.Client(t, kgo.ConsumeTopics(s.broker.Topics.Events, s.broker.Topics.Requests),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	return s
}

// TestP1_KilledProcessesNeitherChargeTwiceNorLoseAPayment kills a relay between
// its publish and its delete, and the only worker while the provider is being
// asked for charges and refunds.
func TestP1_P2_P5_KilledProcessesNeitherChargeTwiceNorLoseAPayment(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.killRelayAfterItsPublish()
	s.service("relay")
	s.service("reconciler")
	s.setFaults(pspsim.Faults{Rates: pspsim.Rates{DelayMS: 1000}}) // so that a busy machine, too, kills while it is asked
	worker := s.service("worker")
	s.awaitFinal(held)
	posted := make(chan []answer)
	go func() { posted <- s.client.postMany(t, "many", payments) }()
	s.refundHeld()
	s.awaitOpenCalls()
	worker.kill()
	s.requireKilledCalls()
	s.setFaults(pspsim.Faults{Rates: pspsim.Rates{DelayMS: 30}})
	s.service("worker")
	answers := <-posted

	s.awaitFinal(payments + held)
	s.awaitRefunds()
	require.Len(t, distinct(answers), payments, "the second request got the first one's payment")
	s.requireBooks()
	for _, kind := range []string{"charge", "refund"} {
		require.Positive(t, s.count("SELECT count(*) FROM operation WHERE fence >= 2 AND kind = $1", kind), "a %s's lease was taken over", kind)
	}
	s.awaitEvents(payments + held)
	require.Positive(t, s.repeated(), "the killed relay's events were published again under the same ids")
}

// held is how many payments the killed relay had in hand.
const held = 20

// killRelayAfterItsPublish holds the rows' locks in another transaction, so that
// the relay publishes, waits in its DELETE, and dies there.
func (s *stage) killRelayAfterItsPublish() {
	s.t.Helper()
	s.held = s.client.postMany(s.t, "held", held)
	tx, err := s.db.Owner.Begin(s.t.Context())
	require.NoError(s.t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(s.t.Context())) }()
	_, err = tx.Exec(s.t.Context(), "SELECT 1 FROM outbox FOR UPDATE")
	require.NoError(s.t, err)
	relay := s.service("relay")
	s.consume(func() bool { return len(s.seen) == held })
	relay.kill()
	// The server would finish what the dead relay had already sent it. A relay
	// whose host dies takes its connections along, also one whose DELETE is only
	// about to wait; one whose DELETE never left is gone by itself.
	s.count(`SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 10000))
		FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'payonce-relay'`)
	require.NoError(s.t, tx.Rollback(s.t.Context()))
	require.Equal(s.t, held, s.count("SELECT count(*) FROM outbox"), "published, and not removed")
}

// consume reads topics until enough was seen.
func (s *stage) consume(enough func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for !enough() {
		fetches := s.consumer.PollFetches(ctx)
		require.NoError(s.t, fetches.Err(), "%d event ids seen", len(s.seen))
		fetches.EachRecord(func(r *kgo.Record) {
			for _, h := range r.Headers {
				if h.Key == "ce_id" {
					s.seen[string(h.Value)]++
				}
			}
		})
	}
}

func (s *stage) awaitEvents(accepted int) {
	s.t.Helper()
	told := s.count("SELECT count(*) FROM payment_history WHERE event_id IS NOT NULL")
	require.GreaterOrEqual(s.t, told, 2*(accepted+len(s.refunds)))
	s.consume(func() bool { return len(s.seen) == told && s.repeated() >= held })
}

func (s *stage) repeated() int {
	n := 0
	for _, times := range s.seen {
		if times > 1 {
			n++
		}
	}
	return n
}

func (s *stage) awaitFinal(accepted int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return s.count("SELECT count(*) FROM payment WHERE state = 'captured'") == accepted
	}, patience, 50*time.Millisecond, "not all payments were captured")
}

// requireBooks compares provider, payments and ledger.
func (s *stage) requireBooks() {
	s.t.Helper()
	oracle := s.oracle()
	require.Len(s.t, oracle.References, payments+held+len(s.refunds))
	for reference, counts := range oracle.References {
		if s.refunds[reference] {
			require.Equal(s.t, 1, counts.Refunded, "%s: %+v", reference, counts)
		} else {
			require.Equal(s.t, 1, counts.Charged, "%s: %+v", reference, counts)
		}
	}
	charged, refunded := 1000*(payments+held), refundMinor*len(s.refunds)
	require.Equal(s.t, pspsim.Total{Charged: int64(charged), Refunded: int64(refunded)}, oracle.Totals["TRY"])
	require.Zero(s.t, s.count("SELECT coalesce(sum(amount_minor), 0) FROM ledger_entry"))
	require.Equal(s.t, charged+refunded, s.count("SELECT sum(amount_minor) FROM ledger_entry WHERE amount_minor > 0"))
	require.Equal(s.t, refunded-charged, s.count("SELECT sum(amount_minor) FROM ledger_entry WHERE account LIKE 'merchant:%:payable'"))
	require.Equal(s.t, refunded, s.count("SELECT sum(refunded_minor) FROM payment"))
}

func (s *stage) oracle() pspsim.Oracle {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.simURL+"/oracle", nil)
	require.NoError(s.t, err)
	response, err := web.Do(request)
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	var o pspsim.Oracle
	require.NoError(s.t, json.NewDecoder(response.Body).Decode(&o))
	return o
}

func (s *stage) setFaults(f pspsim.Faults) {
	s.t.Helper()
	body, err := json.Marshal(f)
	require.NoError(s.t, err)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, s.simURL+"/faults", strings.NewReader(string(body)))
	require.NoError(s.t, err)
	response, err := web.Do(request)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	require.Less(s.t, response.StatusCode, 300, fmt.Sprint(response.Status))
}

func (s *stage) count(sql string, arguments ...any) int {
	s.t.Helper()
	var n int
	require.NoError(s.t, s.db.App.QueryRow(s.t.Context(), sql, arguments...).Scan(&n))
	return n
}

func distinct(answers []answer) map[string]bool {
	ids := map[string]bool{}
	for _, a := range answers {
		ids[a.body.ID] = true
	}
	return ids
}
