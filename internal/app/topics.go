package app

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/lifecycle"
)

// silenceWait is how long readiness waits for a broker's word. It leaves time for
// the answer to a probe that itself waits for a second.
const silenceWait = 400 * time.Millisecond

// topicsCheck asks whether the shared topics exist. Only a broker that answers can
// make a service unready: restarting or unplugging services mends no broker, and
// work goes on from PostgreSQL meanwhile (O5).
func topicsCheck(client *kgo.Client, topics []string) lifecycle.Check {
	var mu sync.Mutex
	var known error // what the last broker that answered said
	return lifecycle.Check{Name: "topics", Ask: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, silenceWait)
		defer cancel()
		missing, err := kafka.MissingTopics(ctx, client, topics...)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			known = missingError(missing)
		}
		return known
	}}
}

func missingError(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("missing: %s; run `payctl topics create`", strings.Join(missing, ", "))
}
