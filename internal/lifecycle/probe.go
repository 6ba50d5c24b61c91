package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// probeWait is longer than readiness takes and shorter than the time after
	// which who runs the probe gives it up.
	probeWait = 2 * time.Second
	// probeWordsMax, in bytes, is how much of an answer is repeated.
	probeWordsMax = 2 << 10
)

// Probe asks a process on this machine how it is, for containers that hold the
// process and nothing else: no shell and no curl. addr is what the process's
// server listens on, and what is livez or readyz (see Admin), livez without it.
// It returns nil for a 2xx, and otherwise what was answered instead.
func Probe(ctx context.Context, addr string, what ...string) error {
	if strings.HasSuffix(addr, ":0") {
		return fmt.Errorf("%s is any free port, which only the process itself knows: give it a fixed one", addr)
	}
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	path := "/" + strings.Join(what, "/")
	if path == "/" {
		path = "/livez"
	}
	// A URL needs a host, and ":9080" has none; dialling it means this machine.
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, probeWordsMax))
	if err == nil && response.StatusCode/100 != 2 {
		err = errors.New(response.Status + ": " + strings.TrimSpace(string(text)))
	}
	return err
}
