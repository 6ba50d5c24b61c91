package app

import (
	"context"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
)

// resources are what every service has: its database and its admin address.
type resources struct {
	pool  *pgxpool.Pool
	admin net.Listener
	log   *zap.Logger
}

// open opens them, with the checks that refuse a database on which the promises do
// not hold.
func open(ctx context.Context, name string, c config.Service, connsMax int32, log *zap.Logger) (*resources, error) {
	pool, err := postgres.Open(ctx, string(c.DatabaseURL), postgres.PoolOptions{
		ConnsMax: connsMax, ApplicationName: "payonce-" + name, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("PAYONCE_DATABASE_URL: %w", err)
	}
	admin, err := lifecycle.Listen(ctx, string(c.AdminAddr))
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("PAYONCE_ADMIN_ADDR: %w", err)
	}
	return &resources{pool: pool, admin: admin, log: log}, nil
}

func (r *resources) close() {
	_ = r.admin.Close() // it is closed already when it was served on
	r.pool.Close()
}

// run says that the service is ready and runs its parts. The admin server stops
// last, so that liveness is answered until the end.
func (r *resources) run(ctx context.Context, checks []lifecycle.Check, fields []zap.Field, parts ...lifecycle.Part) error {
	checks = append([]lifecycle.Check{r.databaseCheck()}, checks...)
	parts = append(parts, lifecycle.Server("admin server", r.admin, lifecycle.Admin(checks...)))
	r.log.Info("ready", append(fields, zap.Stringer("admin_addr", r.admin.Addr()))...)
	defer r.log.Info("stopped")
	return lifecycle.Run(ctx, parts...)
}

// databaseCheck asks whether the database answers, the role may do no more than it
// should, and the schema is new enough.
func (r *resources) databaseCheck() lifecycle.Check {
	return lifecycle.Check{Name: "database", Ask: func(ctx context.Context) error { return postgres.Ready(ctx, r.pool) }}
}

func topicsOf(t config.Topics) event.Topics { return event.TopicsWithPrefix(string(t.TopicPrefix)) }

// kafkaOptions are the options of every connection to Kafka.
func kafkaOptions(name string, c config.Kafka, log *zap.Logger) []kgo.Opt {
	return kafka.Options(kafka.Config{Brokers: c.Brokers, ClientID: "payonce-" + name, Log: log})
}
