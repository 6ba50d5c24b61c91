package accept

import (
	"context"
	"crypto/rand"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/payonce/payonce/pkg/event"
)

const traceParentHeader = "traceparent"

// Context is what every event of the payment carries on, as far as it is sane. An
// empty correlation id becomes the payment's id once it has one.
func (c Command) Context() event.Context {
	return event.Context{
		TraceParent:    traceParent(c.TraceParent),
		CorrelationID:  sane(c.CorrelationID),
		CausationID:    sane(c.CausationID),
		IdempotencyKey: c.IdempotencyKey,
	}
}

// sane returns id, or nothing when it would do harm in a header or a log line.
func sane(id string) string {
	if len(id) > CorrelationIDCharsMax || strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' }) || HasCardNumber(id) {
		return ""
	}
	return id
}

// traceParent carries on a valid W3C trace context and begins a trace of its own
// otherwise, which is not sampled: nobody has recorded its first span.
func traceParent(incoming string) string {
	carried := validTrace(incoming)
	if carried == "" {
		carried = traceOf(trace.ContextWithSpanContext(context.Background(), newSpanContext()))
	}
	return carried
}

// validTrace returns a W3C trace context as it is carried on, or nothing when it is none.
func validTrace(incoming string) string {
	return traceOf(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceParentHeader: incoming}))
}

func traceOf(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceParentHeader]
}

func newSpanContext() trace.SpanContext {
	var config trace.SpanContextConfig
	_, _ = rand.Read(config.TraceID[:]) // never fails: crypto/rand ends the process instead
	_, _ = rand.Read(config.SpanID[:])
	return trace.NewSpanContext(config)
}
