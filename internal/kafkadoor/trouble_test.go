package kafkadoor_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
)

// outage is a pool whose server can be gone.
type outage struct {
	mu    sync.Mutex
	gone  bool
	conns []net.Conn
}

func (o *outage) pool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.ConnConfig.DialFunc = o.dial
	config.ConnConfig.Fallbacks = nil
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func (o *outage) dial(ctx context.Context, network, address string) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the server is gone")}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		o.conns = append(o.conns, conn)
	}
	return conn, err
}

func (o *outage) set(gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone = gone; gone {
		for _, conn := range o.conns {
			_ = conn.Close()
		}
		o.conns = nil
	}
}

// waits returns once the door has said that commands wait.
func (d door) waits(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { // the log is all that shows it
		return d.logs.FilterMessage("commands wait").Len() > 0
	}, patience, 5*time.Millisecond)
}

func TestI14_CommandsWaitWhileTheDatabaseIsDownAndKeepTheirOrder(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	var o outage
	d := h.startOn(t, o.pool(t, h.AppURL))
	h.shop.ask(t, h.shop.command("k-0", body("INV-0", "10.00"))).accepted(t)
	o.set(true)
	const commands = 20
	for i := range commands {
		h.shop.send(t, h.shop.command(fmt.Sprintf("k-%d", i+1), body(fmt.Sprintf("INV-%d", i+1), "10.00")))
	}
	d.waits(t)
	o.set(false)
	for i, a := range h.shop.hear(t, commands) {
		a.accepted(t)
		require.Equal(t, fmt.Sprintf("k-%d", i+1), a.headers["causationid"])
	}
	require.Equal(t, 1+commands, h.payments(t))
	require.Zero(t, d.logs.FilterMessageSnippet("given up").Len())
}

// A library caller keeps its transaction open.
func TestI4_AHeldKeyKeepsItsOwnPartitionWaitingOnly(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	d := h.start(t)
	other := h.open(t)
	other.ask(t, other.command("k-0", body("INV-0", "10.00"))).accepted(t)

	held, err := h.App.Begin(t.Context())
	require.NoError(t, err)
	command, err := accept.DecodePayment([]byte(body("INV-1", "10.00")))
	require.NoError(t, err)
	command.MerchantID, command.ProviderAccount, command.IdempotencyKey = h.shop.id, fixture.Account, "k-1"
	request, err := command.Validate()
	require.NoError(t, err)
	results, err := h.rules.Accept(t.Context(), held, []accept.Request{request})
	require.NoError(t, err)

	h.shop.send(t, h.shop.command("k-1", body("INV-1", "10.00")), h.shop.command("k-2", body("INV-2", "10.00")))
	d.waits(t)
	for i := range 5 {
		other.ask(t, other.command(fmt.Sprintf("k-%d", i+1), body(fmt.Sprintf("INV-%d", i+1), "10.00"))).accepted(t)
	}
	require.NoError(t, held.Commit(t.Context()))
	answers := h.shop.hear(t, 2)
	first, replayed := answers[0].accepted(t)
	require.True(t, replayed)
	require.Equal(t, results[0].PaymentID, first.ID)
	require.Equal(t, "k-2", answers[1].headers["causationid"], "behind the one that was held")
}

// fault makes the broker answer requests with an error until the returned function is
// called.
func (h *hall) fault(key kmsg.Key, topic string, err *kerr.Error) (mend func()) {
	return h.broker.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Topic: topic, Err: err, Count: -1}).Remove
}

func TestI1_ATopicForRepliesThatCannotBeWrittenHoldsUpItsPartitionOnly(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	neighbours := make([]*sender, 12) // most of them behind the one in the step
	for i := range neighbours {
		neighbours[i] = h.open(t)
		neighbours[i].send(t, neighbours[i].command("k-0", body("INV-0", "10.00")))
	}
	mend := h.fault(kmsg.Produce, h.shop.topics.Replies, kerr.NotEnoughReplicas)
	h.shop.send(t, h.shop.command("k-1", body("INV-1", "10.00")))
	d := h.start(t)
	d.waits(t)
	for _, n := range neighbours {
		n.hear(t, 1)[0].accepted(t)
	}
	for i := range 3 { // while the first answer is still on its way
		neighbours[i].ask(t, neighbours[i].command("k-1", body("INV-1", "10.00"))).accepted(t)
	}
	for _, said := range d.logs.FilterMessage("commands wait").All() {
		require.EqualValues(t, 1, said.ContextMap()["partitions"], "an answer that was acknowledged in time is no late one")
	}
	mend()
	h.shop.hear(t, 1)[0].accepted(t)
	require.Equal(t, len(neighbours)+1+3, h.payments(t))
}

// acceptUnheard has a door accept one payment and die before it could answer.
func (h *hall) acceptUnheard(t *testing.T) {
	t.Helper()
	mend := h.fault(kmsg.Produce, h.shop.topics.Replies, kerr.NotLeaderForPartition)
	first := h.start(t)
	h.shop.send(t, h.shop.command("k-1", body("INV-1", "10.00")))
	require.Eventually(t, func() bool { return h.payments(t) == 1 }, patience, 5*time.Millisecond) // nothing else is told
	first.stop()
	mend()
}

func TestT3_ADoorThatDiesBetweenCommitAndAnswerAnswersAgain(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.acceptUnheard(t)
	h.start(t)
	view, replayed := h.shop.hear(t, 1)[0].accepted(t)
	require.True(t, replayed)
	require.Equal(t, "INV-1", view.InvoiceID)
	require.Equal(t, 1, h.payments(t))
}

func TestT3_ACommandThatIsDeliveredAgainGetsAnAnswerWithTheSameID(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	mend := h.fault(kmsg.OffsetCommit, "", kerr.GroupAuthorizationFailed)
	first := h.start(t)
	before := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00")))
	first.stop()
	mend()
	h.start(t)
	after := h.shop.hear(t, 1)[0]
	require.Equal(t, before.headers["ce_id"], after.headers["ce_id"])
	_, replayed := after.accepted(t)
	require.True(t, replayed)

	own := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00")))
	require.NotEqual(t, before.headers["ce_id"], own.headers["ce_id"], "another record of the sender's has an answer of its own")
	require.Equal(t, 1, h.payments(t))
}

func TestI1_AMissingTopicForAnswersHoldsUpItsMerchantOnly(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	late := h.sender(t, fixture.Merchant(t, h.App))
	h.create(t, late.topics.Commands)
	d := h.start(t)
	late.send(t, late.command("k-1", body("INV-1", "10.00")))
	d.waits(t)
	h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	require.Equal(t, 1, h.payments(t), "nothing is accepted that cannot be answered")
	h.create(t, late.topics.Replies)
	late.hear(t, 1)[0].accepted(t)
	require.Equal(t, 2, h.payments(t))
}

func TestI1_ATopicOfAMerchantThatIsNotThereYetWaits(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	id := fixture.Merchant(t, h.App)
	nobody := id
	nobody[15] ^= 1
	stranger := h.sender(t, nobody)
	h.create(t, stranger.topics.All()...)
	d := h.start(t)
	stranger.send(t, stranger.command("k-1", body("INV-1", "10.00")))
	d.waits(t)
	_, err := h.App.Exec(t.Context(), "INSERT INTO merchant (id, name, provider_account) VALUES ($1, 'late', 'card')", nobody)
	require.NoError(t, err)
	stranger.hear(t, 1)[0].accepted(t)
}

// A fault of ours that only one command meets.
func TestI1_ACommandThatFailsAgainAndAgainIsGivenUpAndKept(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	_, err := h.Owner.Exec(t.Context(), `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a fault'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON payment FOR EACH ROW WHEN (NEW.invoice_id = 'INV-1') EXECUTE FUNCTION fail()`)
	require.NoError(t, err)
	d := h.start(t)
	h.shop.send(t, h.shop.command("k-1", body("INV-1", "10.00")), h.shop.command("k-2", body("INV-2", "10.00")))
	answers := h.shop.hear(t, 2)
	failed := answers[0].rejected(t)
	require.Equal(t, "urn:payonce:problem:outcome-unknown", failed.Type)
	require.True(t, failed.Retryable)
	answers[1].accepted(t)
	require.Equal(t, "rejected", h.letters(t, 1)[0].headers["dead-letter-reason"])
	require.Equal(t, 1, d.logs.FilterMessageSnippet("given up").Len())
}

// Its key leaves no room for an answer in a message that brokers take.
func TestI1_ARecordTooLargeToBeAnsweredHoldsNothing(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	d := h.start(t)
	const batchBytesMax, envelope = 1_000_012, 300
	h.shop.send(t, &kgo.Record{Topic: h.shop.topics.Commands, Partition: 0, Key: make([]byte, batchBytesMax-envelope)})
	for i := range 8 { // in both partitions
		r := h.shop.command(fmt.Sprintf("k-%d", i), body(fmt.Sprintf("INV-%d", i), "10.00"))
		r.Key = fmt.Appendf(nil, "order %d", i)
		h.shop.ask(t, r).accepted(t)
	}
	require.Equal(t, 2, d.logs.FilterMessageSnippet("passed over").Len(), "neither kept nor answered")
}

func TestI1_ATopicWhoseSendersSetTheTimeIsReported(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.RealBroker(t))
	forger := h.sender(t, fixture.Merchant(t, h.App))
	created, err := h.admin.CreateTopics(t.Context(), 1, 1, map[string]*string{"message.timestamp.type": new("CreateTime")}, forger.topics.All()...)
	require.NoError(t, err)
	require.NoError(t, created.Error())
	t.Cleanup(func() { _, _ = h.admin.DeleteTopics(context.WithoutCancel(t.Context()), forger.topics.All()...) })
	d := h.start(t)
	forger.ask(t, forger.command("k-1", body("INV-1", "10.00"))).accepted(t)
	h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	said := d.logs.FilterMessageSnippet("LogAppendTime").All()
	require.Len(t, said, 1)
	require.Equal(t, forger.topics.Commands, said[0].ContextMap()["topic"])
}

func TestW5_ARebalanceLosesNoCommandAndChargesNoneTwice(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	first := h.start(t)
	const commands = 120
	go func() {
		for i := range commands {
			r := h.shop.command(fmt.Sprintf("k-%d", i), body(fmt.Sprintf("INV-%d", i), "10.00"))
			r.Key = fmt.Appendf(nil, "order %d", i)
			if err := h.shop.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Error(err)
			}
		}
	}()
	answered := map[string]bool{}
	hear := func(atLeast int) {
		for len(answered) < atLeast {
			a := h.shop.hear(t, 1)[0]
			a.accepted(t)
			answered[a.headers["causationid"]] = true
		}
	}
	hear(commands / 4)
	h.start(t)
	hear(commands / 2)
	first.stop()
	hear(commands)
	require.Equal(t, commands, h.payments(t))
}
