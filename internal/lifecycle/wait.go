package lifecycle

import (
	"context"
	"time"
)

// Wait waits for the time or for the end of ctx, whichever comes first. It is the
// pause between two steps of a loop, which looks at ctx itself.
func Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
