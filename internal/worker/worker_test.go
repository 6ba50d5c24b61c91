package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// record is the message that the relay would publish for the payment.
func record(t *testing.T, b testkit.Broker, p operation.NewPayment) *kgo.Record {
	t.Helper()
	e, err := fixture.Requested(p, time.Now())
	require.NoError(t, err)
	return recordOf(b, e)
}

func recordOf(b testkit.Broker, e event.Event) *kgo.Record {
	r := &kgo.Record{Topic: b.Topics.Requests, Key: []byte(e.Key.String()), Value: e.Payload}
	for _, h := range e.Headers() {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
	}
	return r
}

func publish(t *testing.T, b testkit.Broker, records ...*kgo.Record) {
	t.Helper()
	require.NoError(t, b.Client(t).ProduceSync(t.Context(), records...).FirstErr())
}

// awaitCommitted waits until the worker's group has used up every record.
func awaitCommitted(t *testing.T, b testkit.Broker, records int64) {
	t.Helper()
	admin := kadm.NewClient(b.Client(t))
	require.Eventually(t, func() bool {
		offsets, err := admin.FetchOffsets(t.Context(), worker.Consumer)
		if err != nil {
			return false // the group begins with its first member
		}
		var used int64
		offsets.Each(func(o kadm.OffsetResponse) { used += o.At })
		return used >= records
	}, rig.Patience, 20*time.Millisecond, "not all messages were used up")
}

func TestT7_TheSameMessageTenTimesIsOneCharge(t *testing.T) {
	t.Parallel()
	r, b := rig.New(t, rig.Options{}), testkit.NewFakeBroker(t)
	p := fixture.Accept(t, r.DB.App)
	message := record(t, b, p)
	for range 10 {
		again := *message
		publish(t, b, &again)
	}
	r.StartConsumer(b)
	awaitCommitted(t, b, 10)
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	charged, sends := r.Charged(p)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
	require.Equal(t, 1, r.Count("SELECT count(*) FROM attempt"))
	require.Equal(t, 1, r.Count("SELECT count(*) FROM processed_message"))
}

func TestT7_TenMessagesWithIDsOfTheirOwnAreStillOneCharge(t *testing.T) {
	t.Parallel()
	r, b := rig.New(t, rig.Options{}), testkit.NewFakeBroker(t)
	p := fixture.Accept(t, r.DB.App)
	for range 10 {
		publish(t, b, record(t, b, p)) // a fresh event id each: only the claim stands in the way
	}
	r.StartConsumer(b)
	awaitCommitted(t, b, 10)
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	charged, sends := r.Charged(p)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
}

func TestW5_ASlowPaymentHoldsNeitherItsPartitionNorItsOffset(t *testing.T) {
	t.Parallel()
	slow, err := pspsim.ParseStep("delay_before:3s")
	require.NoError(t, err)
	r := rig.New(t, rig.Options{Timeout: 10 * time.Second, Faults: pspsim.Faults{
		Scripts: []pspsim.Script{{PaymentMethod: "tok_slow", Steps: []pspsim.Step{slow}}},
	}})
	b := testkit.NewFakeBroker(t)
	held := fixture.Accept(t, r.DB.App, fixture.WithMethod("tok_slow"))
	quick := fixture.AcceptMany(t, r.DB.App, 5)
	messages := []*kgo.Record{record(t, b, held)}
	for _, p := range quick {
		messages = append(messages, record(t, b, p))
	}
	for _, m := range messages {
		m.Partition = 3
	}
	client := b.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, client.ProduceSync(t.Context(), messages...).FirstErr())
	r.StartConsumer(b)
	awaitCommitted(t, b, int64(len(messages)))
	r.AwaitState(quick, payment.StateCaptured)
	require.Equal(t, payment.StateProcessing, fixture.State(t, r.DB.App, held), "its offset is committed while it is still being asked")
	r.AwaitState([]operation.NewPayment{held}, payment.StateCaptured)
}

func TestW7_WhatFindsNoSlotIsParkedAndStillDone(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Slots: 2, Faults: pspsim.Faults{Rates: pspsim.Rates{DelayMS: 20}}})
	b := testkit.NewFakeBroker(t)
	payments := fixture.AcceptMany(t, r.DB.App, 40)
	for _, p := range payments {
		publish(t, b, record(t, b, p))
	}
	r.StartConsumer(b)
	awaitCommitted(t, b, int64(len(payments)))
	r.StartScheduler()
	r.AwaitState(payments, payment.StateCaptured)
	require.Equal(t, len(payments), r.Count("SELECT count(*) FROM attempt"), "parking is no attempt")
}

// A claim whose transaction does not commit, again and again, must not keep the
// slots from what the due list would send: it is what gets payments done when
// messages do not.
func TestW5_AMessageThatCannotBeCommittedHoldsNoSlot(t *testing.T) {
	t.Parallel()
	r, b := rig.New(t, rig.Options{Slots: 1}), testkit.NewFakeBroker(t)
	_, err := r.DB.Owner.Exec(t.Context(), `
		CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not this time''; END';
		CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON processed_message
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_at_commit()`)
	require.NoError(t, err)
	announced := fixture.Accept(t, r.DB.App)
	publish(t, b, record(t, b, announced))
	r.StartConsumer(b)
	require.Eventually(t, func() bool {
		return r.Count("SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()") > 0
	}, rig.Patience, 20*time.Millisecond, "no transaction failed")
	due := fixture.Accept(t, r.DB.App)
	r.DueNow(due)
	r.StartScheduler()
	r.AwaitState([]operation.NewPayment{due}, payment.StateCaptured)

	_, err = r.DB.Owner.Exec(t.Context(), "DROP TRIGGER fail_at_commit ON processed_message")
	require.NoError(t, err)
	r.AwaitState([]operation.NewPayment{announced}, payment.StateCaptured)
	charged, sends := r.Charged(announced)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
}

func TestLostMessagesAreMadeUpForByTheDueList(t *testing.T) {
	t.Parallel()
	for name, broker := range map[string]func(testing.TB) testkit.Broker{"kfake": testkit.NewFakeBroker, "kafka": testkit.RealBroker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, b := rig.New(t, rig.Options{}), broker(t)
			payments := fixture.AcceptMany(t, r.DB.App, 50)
			for _, p := range payments {
				publish(t, b, record(t, b, p))
			}
			deleteRecords(t, b)
			r.DB.SetNow(t, operation.MessageGrace+time.Second)
			r.StartConsumer(b)
			r.StartScheduler()
			r.AwaitState(payments, payment.StateCaptured)
			require.Zero(t, r.Count("SELECT count(*) FROM processed_message"), "no message was seen")
			for _, p := range payments {
				charged, sends := r.Charged(p)
				require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
			}
		})
	}
}

func deleteRecords(t *testing.T, b testkit.Broker) {
	t.Helper()
	admin := kadm.NewClient(b.Client(t))
	ends, err := admin.ListEndOffsets(t.Context(), b.Topics.Requests)
	require.NoError(t, err)
	deleted, err := admin.DeleteRecords(t.Context(), ends.Offsets())
	require.NoError(t, err)
	require.NoError(t, deleted.Error())
}

func TestW6_AMessageThatIsNoneGoesToTheDeadLettersWholeAndHoldsNothing(t *testing.T) {
	t.Parallel()
	r, b := rig.New(t, rig.Options{}), testkit.NewFakeBroker(t)
	p := fixture.Accept(t, r.DB.App)
	foreign := record(t, b, operation.NewPayment{PaymentID: uuid.New(), OperationID: uuid.New(), MerchantID: uuid.New(), Amount: p.Amount})
	garbled := record(t, b, p)
	garbled.Value = []byte(`{"paymentId":`)
	newer := record(t, b, p)
	for i, h := range newer.Headers {
		if h.Key == event.HeaderType {
			newer.Headers[i].Value = []byte("payonce.PaymentRequested.v9")
		}
	}
	bare := &kgo.Record{Topic: b.Topics.Requests, Key: []byte("k"), Value: []byte("\x00\xff")}
	bad := []*kgo.Record{foreign, garbled, newer, bare}
	good := record(t, b, p)
	client := b.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner())) // all on one partition
	require.NoError(t, client.ProduceSync(t.Context(), append(bad, good)...).FirstErr())
	r.StartConsumer(b)
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	awaitCommitted(t, b, int64(len(bad)+1))

	reader := b.Client(t, kgo.ConsumeTopics(b.Topics.DeadLetters), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	letters := map[string]string{} // value to key
	for len(letters) < len(bad) {
		ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
		fetches := reader.PollFetches(ctx)
		cancel()
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { letters[string(r.Value)+reason(r)] = string(r.Key) })
	}
	for _, m := range bad {
		found := false
		for value, key := range letters {
			found = found || (len(value) > len(m.Value) && value[:len(m.Value)] == string(m.Value) && key == string(m.Key))
		}
		require.True(t, found, "a dead letter keeps key and bytes: %q", m.Value)
	}
}

func reason(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == "dead-letter-reason" {
			return "|" + string(h.Value)
		}
	}
	return ""
}

func TestW3_AnOpenBreakerParksAndComesBackWithoutLosingAnything(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Timeout: time.Second, Faults: pspsim.Faults{Rates: pspsim.Rates{Error5xx: 1}}})
	b := testkit.NewFakeBroker(t)
	tripping := fixture.AcceptMany(t, r.DB.App, 30)
	for _, p := range tripping {
		publish(t, b, record(t, b, p))
	}
	r.StartConsumer(b)
	awaitCommitted(t, b, int64(len(tripping)))
	r.AwaitState(tripping, payment.StateUnknown, payment.StateCreated)

	later := fixture.AcceptMany(t, r.DB.App, 20)
	for _, p := range later {
		publish(t, b, record(t, b, p))
	}
	awaitCommitted(t, b, int64(len(tripping)+len(later))) // the partitions go on
	require.Positive(t, r.Count("SELECT count(*) FROM operation WHERE state = 'created' AND reason = 'breaker-open'"))
	requireNoDeadLetters(t, b)

	require.NoError(t, r.Sim.SetFaults(pspsim.Faults{}))
	r.StartScheduler()
	r.StartReconciler()
	r.AwaitState(append(tripping, later...), payment.StateCaptured)
	for reference, counts := range r.Sim.Oracle().References {
		require.Equal(t, 1, counts.Charged, "%s: %+v", reference, counts)
	}
}

func requireNoDeadLetters(t *testing.T, b testkit.Broker) {
	t.Helper()
	ends, err := kadm.NewClient(b.Client(t)).ListEndOffsets(t.Context(), b.Topics.DeadLetters)
	require.NoError(t, err)
	ends.Each(func(o kadm.ListedOffset) { require.Zero(t, o.Offset) })
}

func TestW4_ADeclineIsFinalAndFreesTheInvoice(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	p := fixture.Accept(t, r.DB.App, fixture.WithMethod("tok_decline"))
	r.DueNow(p)
	r.StartScheduler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateFailed)
	require.Zero(t, r.Count("SELECT count(*) FROM ledger_entry"))
	require.Zero(t, r.Count("SELECT count(*) FROM invoice_identity"))
	fixture.Accept(t, r.DB.App, fixture.WithInvoice(p.MerchantID, p.InvoiceID))
}

func TestW4_AProviderThatIsNotThereIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	p := fixture.Accept(t, r.DB.App)
	// Nobody listens on a port that nobody is given: the worker's own trace shows that
	// no byte left.
	absent := r.WithProvider("http://127.0.0.1:1")
	r.DueNow(p)
	_, err := absent.ScheduleOnce(t.Context())
	require.NoError(t, err)
	drain(t, absent)
	state, fence, _ := r.Operation(p)
	require.Equal(t, payment.OperationCreated, state)
	require.Equal(t, int64(1), fence)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM attempt WHERE not_sent"))
	require.Zero(t, r.Count("SELECT count(*) FROM evidence"))

	r.StartScheduler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	charged, _ := r.Charged(p)
	require.Equal(t, 1, charged)
}

// The wire: a keep-alive connection that the provider closes after it has read
// the request. net/http would send a POST with an Idempotency-Key once more.
func TestP1_ARequestOnACutConnectionArrivesOnceAndItsOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	server := newCuttingProvider(t)
	w := r.WithProvider(server.url)
	first, second := fixture.Accept(t, r.DB.App), fixture.Accept(t, r.DB.App)
	for _, p := range []operation.NewPayment{first, second} {
		r.DueNow(p)
		_, err := w.ScheduleOnce(t.Context())
		require.NoError(t, err)
		drain(t, w)
	}
	state, _, _ := r.Operation(first)
	require.Equal(t, payment.OperationSucceeded, state)
	state, _, _ = r.Operation(second)
	require.Equal(t, payment.OperationUnknown, state, "not created, not failed")
	require.Equal(t, []string{first.OperationID.String(), second.OperationID.String()}, server.arrivals(), "one arrival each")
	require.Equal(t, 1, server.connections(), "the second request went over the first one's connection")
}

func drain(t *testing.T, w *worker.Worker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	require.NoError(t, w.Drain(ctx))
}

func TestALeaseThatIsTooShortForItsPartsIsRefused(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	config := worker.Config{Name: "w", Accounts: map[string]provider.Connector{"card": r.Connector}, Lease: r.Connector.Capabilities().Timeout}
	require.ErrorContains(t, config.Validate(), "must exceed")
}
