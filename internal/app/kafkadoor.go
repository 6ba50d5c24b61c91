package app

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/kafkadoor"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/pkg/event"
)

// doorStopWait lets the door finish the commands in hand, hear of their answers and
// leave its group.
const doorStopWait = 25 * time.Second

// kafkaDoor is the part that answers commands, where the configuration has one. The
// rest of intake neither waits for it nor asks Kafka.
func kafkaDoor(c config.Intake, pool *pgxpool.Pool, committer *accept.Committer, log *zap.Logger) []lifecycle.Part {
	if !c.KafkaDoor {
		return nil
	}
	door := kafkadoor.New(kafkadoor.Config{
		Brokers: c.Brokers, TopicPrefix: string(c.TopicPrefix), Source: event.Source(string(c.Cell)), Log: log,
	}, pool, committer, kafkaOptions("intake", config.Kafka{Brokers: c.Brokers}, log)...)
	return []lifecycle.Part{{Name: "Kafka door", Run: door.Run, StopWait: doorStopWait}}
}
