package worker

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// identifyInterval is the pause between two questions to a provider that has not
// said yet which account our credentials open.
const identifyInterval = time.Second

// identified reports whether the account is known, without which nothing is claimed:
// attempts store it, so that nobody asks another account about them later.
func (g *gate) identified() bool { return g.connector.Recipe() != "" }

// identify asks each provider that is not known yet, in the background: one that is
// down holds up nobody else's payments.
func (w *Worker) identify(ctx context.Context) {
	for account, g := range w.gates {
		if g.identified() || !g.mayIdentify(time.Now()) {
			continue
		}
		w.sends.Go(func() {
			if err := g.connector.Identify(context.WithoutCancel(ctx)); err != nil {
				w.log.Warn("provider account is not identified; its payments wait", zap.String("provider_account", account), zap.Error(err))
			}
		})
	}
}

// mayIdentify spaces the questions.
func (g *gate) mayIdentify(now time.Time) bool {
	last := g.askedAt.Load()
	return now.UnixNano()-last >= int64(identifyInterval) && g.askedAt.CompareAndSwap(last, now.UnixNano())
}
