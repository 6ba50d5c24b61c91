package proof_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// patience bounds every wait. It is far beyond what is needed, because it only
// matters when the test fails.
const patience = 120 * time.Second

// processes builds the binaries once and starts them with one environment.
type processes struct {
	t       *testing.T
	folder  string
	environ []string
}

func build(t *testing.T, environ []string) *processes {
	t.Helper()
	p := &processes{t: t, folder: t.TempDir(), environ: append(os.Environ(), environ...)}
	command := exec.CommandContext(t.Context(), "go", "build", "-o", p.folder+string(filepath.Separator),
		"./cmd/intake", "./cmd/relay", "./cmd/worker", "./cmd/reconciler", "./cmd/payctl", "./cmd/pspsim")
	command.Dir = filepath.Join("..", "..")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return p
}

// process is one running binary.
type process struct {
	command *exec.Cmd
	log     *logged
	ended   chan struct{}
}

// start runs a binary until the test ends.
func (p *processes) start(name string, environ ...string) *process {
	p.t.Helper()
	s := &process{command: exec.Command(filepath.Join(p.folder, name)), log: &logged{}, ended: make(chan struct{})}
	s.command.Env = append(append([]string{}, p.environ...), environ...)
	s.command.Stdout, s.command.Stderr = s.log, s.log
	require.NoError(p.t, s.command.Start())
	go func() {
		_ = s.command.Wait()
		close(s.ended)
	}()
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("the last of %s:\n%s", name, s.log.tail())
		}
		s.kill()
	})
	return s
}

// service starts a process and waits until it is ready.
func (p *processes) service(name string, environ ...string) *process {
	p.t.Helper()
	admin := freeAddress(p.t)
	s := p.start(name, append(environ, "PAYONCE_ADMIN_ADDR="+admin)...)
	p.ready(s, admin)
	return s
}

// kill is a SIGKILL: the process gets no chance to tidy up.
func (s *process) kill() {
	_ = s.command.Process.Kill()
	<-s.ended
}

// run runs a tool to its end and returns what it printed.
func (p *processes) run(name string, arguments ...string) []byte {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), filepath.Join(p.folder, name), arguments...)
	command.Env = p.environ
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	require.NoError(p.t, err, "%s: %s", name, problems.String())
	return output
}

// merchant creates a merchant and returns its API key.
func (p *processes) merchant() string {
	p.t.Helper()
	var created struct{ ID, APIKey string }
	require.NoError(p.t, json.Unmarshal(p.run("payctl", "merchant", "create", "Acme", "--provider", "card", "--output", "json"), &created))
	require.NotEmpty(p.t, created.APIKey)
	return created.APIKey
}

// ready waits until a process serves what it is there for.
func (p *processes) ready(s *process, address string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		select {
		case <-s.ended:
			p.t.Fatalf("%s ended:\n%s", s.command.Path, s.log.tail())
		default:
		}
		status, err := p.status("http://" + address + "/readyz")
		return err == nil && status < 300
	}, patience, 20*time.Millisecond, "%s is not ready", s.command.Path)
}

// web is every test's HTTP client.
var web = &http.Client{Timeout: 30 * time.Second}

func (p *processes) status(url string) (int, error) {
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := web.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// logged keeps what a process wrote.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *logged) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.all.String()
	return text[max(0, len(text)-4000):]
}

// freeAddress is a loopback address that nobody listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// client posts payments for one merchant.
type client struct {
	address, apiKey string
}

type answer struct {
	status int
	body   struct {
		ID, OperationID, State, InvoiceID string
	}
}

// post asks for a payment under a key. It reports transport errors, so that
// goroutines can use it.
func (c client) post(ctx context.Context, invoice, key string) (answer, error) {
	return c.send(ctx, "/v1/payments", key,
		fmt.Sprintf(`{"invoiceId":%q,"paymentType":"invoice","amount":"10.00","currency":"TRY","paymentMethod":"tok_visa"}`, invoice))
}

func (c client) send(ctx context.Context, path, key, body string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.address+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+c.apiKey)
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("Content-Type", "application/json")
	return exchange(request)
}

func exchange(request *http.Request) (answer, error) {
	response, err := web.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	a := answer{status: response.StatusCode}
	return a, json.NewDecoder(response.Body).Decode(&a.body)
}

// postMany posts count payments from several callers, each twice with its key.
func (c client) postMany(t *testing.T, name string, count int) []answer {
	t.Helper()
	answers := make([]answer, count)
	var callers sync.WaitGroup
	work := make(chan int)
	for range 32 {
		callers.Go(func() {
			for i := range work {
				invoice := fmt.Sprintf("%s-%d", name, i)
				for range 2 {
					a, err := c.post(context.Background(), invoice, "key-"+invoice)
					if err != nil || (a.status != http.StatusAccepted && a.status != http.StatusCreated) {
						t.Errorf("posting %s: status %d, %v", invoice, a.status, err)
					}
					answers[i] = a
				}
			}
		})
	}
	for i := range count {
		work <- i
	}
	close(work)
	callers.Wait()
	return answers
}
