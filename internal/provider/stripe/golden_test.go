package stripe_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/pkg/payment"
)

var update = flag.Bool("update", false, "write the golden files anew")

// raw keeps the bytes of what it reads, with the one header that changes from run
// to run left to the reader.
type raw struct {
	mu   sync.Mutex
	seen bytes.Buffer
}

// ServeHTTP writes a request down as it was on the wire, as far as net/http shows it:
// the line, the headers in their sorted order, and the body's bytes.
func (r *raw) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.seen, "%s %s %s\n", req.Method, req.URL.RequestURI(), req.Proto)
	_ = req.Header.Write(&r.seen)
	fmt.Fprintf(&r.seen, "\n%s\n\n", body)
	w.WriteHeader(http.StatusInternalServerError)
}

func (r *raw) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.seen.Reset()
	return string(bytes.ReplaceAll(r.seen.Bytes(), []byte("\r\n"), []byte("\n")))
}

// A resend is byte-identical, and a new stripe-go or a new recipe that changes a byte
// is seen here before it meets a key that was used with other bytes.
func TestEachRequestIsTheseBytesEachTime(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0198c5a0-0000-7000-8000-000000000001")
	op := func(kind payment.Kind, objectID string) provider.Operation {
		o := operation(t, kind, "10.00", "TRY", objectID)
		o.ID, o.Reference = id, id.String()
		return o
	}
	window := provider.ListQuery{From: time.Unix(1_800_000_000, 0), To: time.Unix(1_800_003_600, 0)}
	stop := within(time.Minute)
	for name, ask := range map[string]func(*stripe.Connector){
		"prepare": func(c *stripe.Connector) { c.Prepare(t.Context(), op(payment.KindCharge, ""), stop) },
		"prepare_bare": func(c *stripe.Connector) {
			bare := op(payment.KindCharge, "")
			bare.Customer = ""
			c.Prepare(t.Context(), bare, stop)
		},
		"confirm":        func(c *stripe.Connector) { c.Send(t.Context(), op(payment.KindCharge, "pi_1"), stop) },
		"refund":         func(c *stripe.Connector) { c.Send(t.Context(), op(payment.KindRefund, "pi_1"), stop) },
		"void":           func(c *stripe.Connector) { c.Send(t.Context(), op(payment.KindVoid, "pi_1"), stop) },
		"inquire":        func(c *stripe.Connector) { c.Inquire(t.Context(), op(payment.KindCharge, "pi_1")) },
		"inquire_refund": func(c *stripe.Connector) { c.Inquire(t.Context(), op(payment.KindRefund, "pi_1")) },
		"list":           func(c *stripe.Connector) { _, _ = c.List(t.Context(), window) },
		"account":        func(c *stripe.Connector) { _ = c.Identify(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := new(raw)
			server := httptest.NewServer(recorder)
			t.Cleanup(server.Close)
			connector := connect(t, server.URL, stripe.Options{})
			ask(connector)
			first := recorder.take()
			ask(connector)
			require.Equal(t, first, recorder.take(), "the second time")
			path := filepath.Join("testdata", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(first), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), first, "run the test with -update after reading the difference; a changed byte needs a new recipe")
		})
	}
}
