package app

import (
	"context"
	"time"

	"github.com/payonce/payonce/internal/lifecycle"
)

// committerStopWait is what a committer needs for the groups in its queue when the
// database is slow.
const committerStopWait = 10 * time.Second

// committing is the part that commits groups. It stops after those that use it.
func committing(name string, run func(context.Context)) lifecycle.Part {
	return lifecycle.Part{Name: name, Run: endless(run), StopWait: committerStopWait}
}

// endless is the shape of parts that end only when they are told to.
func endless(run func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		run(ctx)
		return nil
	}
}
