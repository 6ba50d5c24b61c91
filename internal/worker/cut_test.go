package worker_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// cuttingProvider answers the first request and cuts the connection, with its
// listener gone, after it has read the second one.
type cuttingProvider struct {
	url string

	mu       sync.Mutex
	seen     []string // references, in order of arrival
	accepted int
}

func newCuttingProvider(t *testing.T) *cuttingProvider {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &cuttingProvider{url: "http://" + listener.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.accepted++
			p.mu.Unlock()
			serving.Go(func() { p.serve(listener, conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return p
}

func (p *cuttingProvider) serve(listener net.Listener, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		var charge struct {
			Reference, Currency string
			AmountMinor         json.Number
		}
		if err := json.Unmarshal(body, &charge); err != nil {
			return
		}
		p.mu.Lock()
		p.seen = append(p.seen, charge.Reference)
		arrivals := len(p.seen)
		p.mu.Unlock()
		if arrivals > 1 {
			_ = listener.Close()
			return
		}
		answer := fmt.Sprintf(`{"id":"ch_1","reference":%q,"status":"captured","amountMinor":%s,"currency":%q}`,
			charge.Reference, charge.AmountMinor, charge.Currency)
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
	}
}

func (p *cuttingProvider) arrivals() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

func (p *cuttingProvider) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}
