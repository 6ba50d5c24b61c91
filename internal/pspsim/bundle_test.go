package pspsim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payonce/payonce/internal/pspsim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a running provider and a client that reuses no connection, so that a
// cut is the answer to its own request.
type bundle struct {
	t       *testing.T
	server  *pspsim.Server
	address string
	client  *http.Client
	stop    func()
}

func start(t *testing.T, o pspsim.Options) *bundle {
	t.Helper()
	b := &bundle{t: t, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	b.server, b.address, b.stop = serve(t, o)
	return b
}

// serve runs a provider until stop, or the end of the test.
func serve(t testing.TB, o pspsim.Options) (server *pspsim.Server, address string, stop func()) {
	t.Helper()
	server, err := pspsim.New(o)
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- pspsim.Serve(ctx, listener, server) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-served)
	})
	t.Cleanup(stop)
	return server, "http://" + listener.Addr().String(), stop
}

// reply is what came back; cut means that no whole answer did.
type reply struct {
	status int
	body   []byte
	header http.Header
	cut    bool
}

func (b *bundle) do(method, path, key string, body any) reply {
	b.t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(b.t, err)
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.address+path, bytes.NewReader(encoded))
	require.NoError(b.t, err)
	req.GetBody = nil // or net/http repeats what was cut
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return reply{cut: true}
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, body: read, header: resp.Header, cut: err != nil}
}

type fields = map[string]any

// charge posts a charge of 10.00 TRY.
func (b *bundle) charge(reference, key string) reply {
	b.t.Helper()
	return b.do(http.MethodPost, "/v1/charges", key, fields{"reference": reference, "amountMinor": 1000, "currency": "TRY", "paymentMethod": "tok"})
}

func (b *bundle) faults(f pspsim.Faults) {
	b.t.Helper()
	r := b.do(http.MethodPut, "/faults", "", f)
	require.Equal(b.t, http.StatusOK, r.status, "%s", r.body)
}

// script fixes what happens to all requests.
func (b *bundle) script(steps ...string) {
	b.t.Helper()
	script := pspsim.Script{Reference: "*"}
	for _, text := range steps {
		step, err := pspsim.ParseStep(text)
		require.NoError(b.t, err)
		script.Steps = append(script.Steps, step)
	}
	b.faults(pspsim.Faults{Scripts: []pspsim.Script{script}})
}

func (b *bundle) counts(reference string) pspsim.Counts {
	b.t.Helper()
	return decode[pspsim.Oracle](b.t, b.do(http.MethodGet, "/oracle?reference="+reference, "", nil)).References[reference]
}

func (b *bundle) find(reference string) []pspsim.Movement {
	b.t.Helper()
	r := b.do(http.MethodGet, "/v1/charges?reference="+reference, "", nil)
	require.Equal(b.t, http.StatusOK, r.status, "%s", r.body)
	return decode[pspsim.Charges](b.t, r).Charges
}

func (b *bundle) closeDoor(reference string) []pspsim.Movement {
	b.t.Helper()
	r := b.do(http.MethodPost, "/v1/charges/void?reference="+reference, "", fields{})
	door := decode[pspsim.Door](b.t, r)
	require.True(b.t, door.Closed)
	require.Equal(b.t, reference, door.Reference)
	return door.Charges
}

func decode[T any](t *testing.T, r reply) T {
	t.Helper()
	var into T
	require.NoError(t, json.Unmarshal(r.body, &into), "%d %s", r.status, r.body)
	return into
}

// eventually is for what only the clock brings about.
func (b *bundle) eventually(condition func() bool) {
	b.t.Helper()
	require.Eventually(b.t, condition, time.Minute, 5*time.Millisecond)
}
