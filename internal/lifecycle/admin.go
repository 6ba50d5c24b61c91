package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// readyWait bounds all checks together. It is below the one second after which
	// Kubernetes gives a probe up by default.
	readyWait = 800 * time.Millisecond
	// The admin server's clients are probes that send one line.
	adminReadWait  = 5 * time.Second
	adminWriteWait = 10 * time.Second
	adminIdleWait  = time.Minute
	adminBytesMax  = 8 << 10
)

// Check is one thing that has to be there before a process can do its work.
type Check struct {
	Name string
	// Ask returns nil when it is there, and returns soon after ctx ends.
	Ask func(ctx context.Context) error
}

// Admin returns the server for people and orchestrators, which does not belong on
// a public network.
//
// GET /livez says that the process can answer, and nothing about others: a
// database that is down is no reason to restart it (O5). GET /readyz asks the
// checks and says 503, with what is missing, while one of them fails.
func Admin(checks ...Check) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, checks) })
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: adminReadWait, ReadTimeout: adminReadWait, WriteTimeout: adminWriteWait,
		IdleTimeout: adminIdleWait, MaxHeaderBytes: adminBytesMax,
	}
}

func ready(w http.ResponseWriter, r *http.Request, checks []Check) {
	ctx, cancel := context.WithTimeout(r.Context(), readyWait)
	defer cancel()
	answers := make([]error, len(checks))
	var asking sync.WaitGroup
	for i, c := range checks {
		asking.Go(func() { answers[i] = c.Ask(ctx) })
	}
	asking.Wait()
	text, status := "", http.StatusOK
	for i, err := range answers {
		if err != nil {
			text, status = text+fmt.Sprintf("%s: %v\n", checks[i].Name, err), http.StatusServiceUnavailable
		}
	}
	w.WriteHeader(status)
	fmt.Fprint(w, text)
	if status == http.StatusOK {
		fmt.Fprintln(w, "ok")
	}
}
