package worker

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/sony/gobreaker/v2"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

const (
	// probeLine is how many of those that have waited longest a probe chooses from. The
	// same ones each time would not do: a provider that is healthy and fails at one of
	// them would be taken to be down for as long as that one waits.
	probeLine = 32
	// probeRounds failed rounds of questions in a row, two minutes by default, make
	// requests the next probe: where few wait, each round meets the one that the
	// provider fails at. Fewer would make unknown outcomes of an outage.
	probeRounds = 24
)

// probe finds out, in the background, whether a provider is back, once the breaker's
// rest is over. It asks about what has waited long, which moves nothing: after an
// outage the first request that could move money is made to a provider that has just
// answered. A provider without inquiries is probed with breakerProbes requests.
func (w *Worker) probe(ctx context.Context, c *circuit) {
	if c.mute.Load() || c.breaker.State() != gobreaker.StateHalfOpen || !c.gate.identified() || !c.probing.CompareAndSwap(false, true) {
		return
	}
	w.sends.Go(func() {
		defer c.probing.Store(false)
		// Like an attempt, a question that was begun is finished: its timeout bounds it.
		if err := w.askWhatWaits(context.WithoutCancel(ctx), c); err != nil {
			w.log.Warn("provider not probed", zap.String("provider_account", c.gate.account), zap.Error(err))
		}
	})
}

// askWhatWaits asks until the breaker has heard enough. What the answers say about
// the operations is dropped: what may have been sent before is asked about by the
// reconciler, which knows how to weigh the answer.
func (w *Worker) askWhatWaits(ctx context.Context, c *circuit) error {
	reading, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	waiting, err := operation.DueFirst(reading, w.pool, operation.Line{Account: c.gate.account, Kind: c.kind, Most: probeLine})
	if err != nil || len(waiting) == 0 {
		return err // while nobody waits, nobody needs to know
	}
	rand.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	c.askAbout(ctx, waiting)
	return nil
}

func (c *circuit) askAbout(ctx context.Context, waiting []operation.Due) {
	asked := false
	for i := range breakerProbes {
		report, err := c.breaker.Allow()
		if err != nil {
			return // the breaker has heard enough
		}
		about := waiting[i%len(waiting)]
		answer := c.gate.connector.Inquire(ctx, provider.NewOperation(about.OperationID, about.Kind, about.Amount, about.ProviderObjectID))
		health := forProbe(answer)
		if errors.Is(health, errNoResult) {
			c.failedRounds.Add(1) // before the report: the breaker opens with it
			report(health)
			return
		}
		report(health)
		asked = asked || onWire(answer)
	}
	// Some providers know without being asked that a charge was never begun. Then its
	// beginning has to be the probe.
	c.mute.Store(!asked)
}

// onWire reports whether the provider was asked at all.
func onWire(a provider.Answer) bool { return a.Status != 0 || a.Reason == provider.ReasonNoAnswer }

// forProbe says what the answer to a question tells about the provider's health.
// Whatever it says in its own format is healthy, "not found" above all.
func forProbe(a provider.Answer) error {
	switch {
	case !onWire(a):
		return errNotTheProvider
	case a.Verdict != payment.VerdictUnclear:
		return nil
	}
	switch a.Reason {
	case provider.ReasonNoAnswer, provider.ReasonForeignAnswer, provider.ReasonServerError, provider.ReasonCredentials:
		return errNoResult
	default:
		return nil
	}
}
