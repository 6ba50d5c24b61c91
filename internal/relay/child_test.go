package relay_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/relay"
)

// What a child process is told. The test binary is the child's program: with
// these set it is a relay, or the poller that it is compared with.
const (
	childKindEnv     = "RELAY_TEST_CHILD_KIND"
	childNameEnv     = "RELAY_TEST_CHILD_NAME"
	childDatabaseEnv = "RELAY_TEST_CHILD_DATABASE"
	childBrokersEnv  = "RELAY_TEST_CHILD_BROKERS"
	childTopicsEnv   = "RELAY_TEST_CHILD_TOPICS"

	kindRelay  = "relay"
	kindPoller = "poller"
)

// child is a process of its own, which can be killed and frozen.
type child struct {
	name    string // as pg_stat_activity shows it
	process *os.Process
	ended   chan struct{}
}

// startChild starts a process that is killed at the end of the test.
func (b *bundle) startChild(kind string, number int) *child {
	b.t.Helper()
	c := &child{name: fmt.Sprintf("relay child %d", number), ended: make(chan struct{})}
	database := b.database.AppURL
	if kind == kindPoller {
		database = b.database.OwnerURL // it locks rows of the outbox, which the application may not
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childKindEnv+"="+kind, childNameEnv+"="+c.name, childDatabaseEnv+"="+database,
		childBrokersEnv+"="+strings.Join(b.broker.Addrs, ","), childTopicsEnv+"="+strings.Join(b.broker.Topics.All(), ","))
	command.Stderr = testLog{b.t}
	require.NoError(b.t, command.Start())
	c.process = command.Process
	go func() {
		defer close(c.ended)
		_ = command.Wait()
	}()
	b.t.Cleanup(func() { c.signal(b.t, syscall.SIGKILL) })
	return c
}

// signal sends the signal; after SIGKILL it waits until the process is gone.
func (c *child) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	select {
	case <-c.ended:
		return
	default:
	}
	require.NoError(t, c.process.Signal(signal))
	if signal == syscall.SIGKILL {
		<-c.ended
	}
}

// testLog passes a child's log on.
type testLog struct{ t testing.TB }

func (l testLog) Write(text []byte) (int, error) {
	l.t.Logf("child: %s", strings.TrimRight(string(text), "\n"))
	return len(text), nil
}

// runChild is the child's main: it works until SIGTERM.
func runChild() {
	config := zap.NewDevelopmentConfig()
	config.Level = zap.NewAtomicLevelAt(zap.ErrorLevel)
	log := zap.Must(config.Build())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := work(ctx, log)
	stop()
	if err != nil {
		log.Fatal("working", zap.Error(err))
	}
}

func work(ctx context.Context, log *zap.Logger) error {
	options := kafka.Options(kafka.Config{Brokers: strings.Split(os.Getenv(childBrokersEnv), ","), ClientID: "relay child", Log: log})
	client, err := kgo.NewClient(append(options, kafka.Producer()...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	topics := strings.Split(os.Getenv(childTopicsEnv), ",")
	if os.Getenv(childKindEnv) == kindPoller {
		return runPoller(ctx, client)
	}
	pool, err := postgres.Open(ctx, os.Getenv(childDatabaseEnv),
		postgres.PoolOptions{ConnsMax: relay.Steps, ApplicationName: os.Getenv(childNameEnv)})
	if err != nil {
		return err
	}
	defer pool.Close()
	return relay.New(relay.Config{Topics: topics}, pool, client, log).Run(ctx)
}

// runPoller is the outbox poller that everybody writes first: rows by number,
// SKIP LOCKED, no lanes. One of it keeps the order until a transaction commits
// late; two do not.
func runPoller(ctx context.Context, client *kgo.Client) error {
	config, err := pgxpool.ParseConfig(os.Getenv(childDatabaseEnv))
	if err != nil {
		return err
	}
	config.ConnConfig.RuntimeParams["application_name"] = os.Getenv(childNameEnv)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	for ctx.Err() == nil {
		// When the session was ended the next round begins a new one.
		_ = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return pollOnce(ctx, tx, client) })
	}
	return nil
}

func pollOnce(ctx context.Context, tx pgx.Tx, client *kgo.Client) error {
	rows, err := tx.Query(ctx, `DELETE FROM outbox WHERE (lane, seq) IN
		(SELECT lane, seq FROM outbox ORDER BY seq LIMIT 50 FOR UPDATE SKIP LOCKED)
		RETURNING seq, topic, key::text, event_id::text, payload`)
	if err != nil {
		return err
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*kgo.Record, error) {
		r := &kgo.Record{}
		var key, id string
		err := row.Scan(&r.Offset, &r.Topic, &key, &id, &r.Value)
		r.Key, r.Headers = []byte(key), []kgo.RecordHeader{{Key: "ce_id", Value: []byte(id)}}
		return r, err
	})
	if err != nil || len(records) == 0 {
		return err
	}
	slices.SortFunc(records, func(a, b *kgo.Record) int { return cmp.Compare(a.Offset, b.Offset) })
	return client.ProduceSync(context.WithoutCancel(ctx), records...).FirstErr()
}
