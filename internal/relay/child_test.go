package relay_test

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/relay"
)

// What a child process is told. The test binary is the child's program: with
// these set it is a relay.
const (
	childDatabaseEnv = "RELAY_TEST_CHILD_DATABASE"
	childBrokersEnv  = "RELAY_TEST_CHILD_BROKERS"
	childTopicsEnv   = "RELAY_TEST_CHILD_TOPICS"
)

// runChild is a relay process: it runs until SIGTERM.
func runChild() {
	log := zap.Must(zap.NewDevelopment())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := postgres.Open(ctx, os.Getenv(childDatabaseEnv), postgres.PoolOptions{ConnsMax: relay.Steps, ApplicationName: "relay child"})
	if err != nil {
		log.Fatal("opening the database", zap.Error(err))
	}
	defer pool.Close()
	options := kafka.Options(kafka.Config{Brokers: strings.Split(os.Getenv(childBrokersEnv), ","), ClientID: "relay child", Log: log})
	client, err := kgo.NewClient(append(options, kafka.Producer()...)...)
	if err != nil {
		log.Fatal("making the client", zap.Error(err))
	}
	defer client.Close()
	if err := relay.New(relay.Config{Topics: strings.Split(os.Getenv(childTopicsEnv), ",")}, pool, client, log).Run(ctx); err != nil {
		log.Fatal("relaying", zap.Error(err))
	}
}
