package demo

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// plainInterval is how often a progress without a terminal writes a line.
const plainInterval = 2 * time.Second

// progress tells how far the demo is: a bar on a terminal, plain lines elsewhere.
type progress struct {
	posted atomic.Int64

	out   io.Writer
	total int
	bar   *progressbar.ProgressBar // nil without a terminal
	mu    sync.Mutex
	last  time.Time
}

func newProgress(o Options) *progress {
	p := &progress{out: o.Out, total: o.Payments, last: time.Now()}
	if o.Terminal {
		p.bar = progressbar.NewOptions(o.Payments, progressbar.OptionSetWriter(o.Out), progressbar.OptionShowCount(),
			progressbar.OptionSetDescription("payments final"), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	return p
}

// show brings the display up to date.
func (p *progress) show(final int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Set(final)
		return
	}
	if time.Since(p.last) >= plainInterval {
		p.last = time.Now()
		fmt.Fprintf(p.out, "%d of %d posted, %d final\n", p.posted.Load(), p.total, final)
	}
}

// say writes a line between the others.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintf(p.out, "%s (%d of %d posted)\n", line, p.posted.Load(), p.total)
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
