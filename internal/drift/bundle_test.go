package drift_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/payonce/payonce/internal/drift"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// bundle is a rig whose reconciler does not run, beside the provider that holds the
// truth: whatever is learned here is learned by a scan.
type bundle struct {
	*rig.Rig

	t       *testing.T
	sim     *pspsim.Server
	scanner *drift.Scanner
	window  drift.Window
	ahead   atomic.Int64 // of the provider's clock

	mu     sync.Mutex
	asked  []string          // the queries of requests for movements, in order
	onList func(page int)    // called before the list's page is answered; pages count from 1
	edit   map[string]string // what is put into the query of each page, such as its limit
	drops  string            // a movement that the provider remembers no more
}

// options shape a bundle.
type options struct {
	connector string        // default simulated
	ahead     time.Duration // of the provider's clock
	perPage   int           // default 1000
}

func start(t *testing.T, o options) *bundle {
	t.Helper()
	b := &bundle{t: t, edit: map[string]string{}}
	b.ahead.Store(int64(o.ahead))
	var err error
	b.sim, err = pspsim.New(pspsim.Options{Seed: 1, Now: func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.sim.Close()) })
	if o.perPage > 0 {
		b.edit["limit"] = strconv.Itoa(o.perPage)
	}
	b.Rig = rig.New(t, rig.Options{Connector: o.connector, Provider: b})
	b.scanner = b.anotherScanner()
	b.window = drift.Window{From: time.Now().Add(-10 * time.Minute), To: time.Now().Add(10 * time.Minute)}
	return b
}

// anotherScanner is what one more reconciler process has.
func (b *bundle) anotherScanner() *drift.Scanner {
	return &drift.Scanner{
		Pool: b.DB.App, Accounts: map[string]provider.Connector{fixture.Account: b.Connector}, Applier: b.Applier, Asker: b.Reconciler,
		Interval: time.Minute, Log: zaptest.NewLogger(b.t),
	}
}

// ServeHTTP is the provider, with what a test wants to know and to do about its lists.
func (b *bundle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if r.Method == http.MethodGet && r.URL.Path == "/v1/charges" {
		page, before := b.note(query.Get("since") != "", query.Get("reference")+query.Get("after"))
		if page > 0 {
			for name, value := range b.edit {
				query.Set(name, value)
			}
			r.URL.RawQuery = query.Encode()
			before(page)
		}
	}
	if b.drops == "" {
		b.sim.ServeHTTP(w, r)
		return
	}
	b.forgetful(w, r)
}

// forgetful answers without the movement that was dropped.
func (b *bundle) forgetful(w http.ResponseWriter, r *http.Request) {
	whole := httptest.NewRecorder()
	b.sim.ServeHTTP(whole, r)
	body := whole.Body.Bytes()
	var told pspsim.Charges
	if json.Unmarshal(body, &told) == nil && told.Charges != nil {
		told.Charges = slices.DeleteFunc(told.Charges, func(m pspsim.Movement) bool { return m.ID == b.drops })
		var err error
		if body, err = json.Marshal(told); err != nil {
			panic(err)
		}
	}
	w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
	w.WriteHeader(whole.Code)
	_, _ = w.Write(body)
}

func (b *bundle) note(list bool, what string) (page int, before func(int)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !list {
		b.asked = append(b.asked, "inquiry "+what)
		return 0, nil
	}
	b.asked = append(b.asked, "page "+what)
	for _, a := range b.asked {
		if a[:4] == "page" {
			page++
		}
	}
	if b.onList == nil {
		return page, func(int) {}
	}
	return page, b.onList
}

// requests takes note of the questions since the last call.
func (b *bundle) requests() (pages, inquiries int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.asked {
		if a[:4] == "page" {
			pages++
		} else {
			inquiries++
		}
	}
	b.asked = nil
	return pages, inquiries
}

// stopsAt does something as a page is asked for, before it is answered.
func (b *bundle) stopsAt(wanted int, stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onList = func(page int) {
		if page == wanted {
			stop()
		}
	}
}

// later moves the database's clock so far that the window can be scanned.
func (b *bundle) later() { b.DB.SetNow(b.t, time.Hour) }

// scan scans the window to its end.
func (b *bundle) scan() drift.Scan {
	b.t.Helper()
	b.later()
	done, err := b.scanner.Scan(b.t.Context(), fixture.Account, b.window)
	require.NoError(b.t, err)
	require.Equal(b.t, drift.Done, done.Phase)
	return done
}

// charges posts a charge at the provider under a reference, as if somebody else, or a
// request of ours that nobody remembers, had done it.
func (b *bundle) charges(reference string, minor int64) pspsim.Movement {
	b.t.Helper()
	body, err := json.Marshal(map[string]any{"reference": reference, "amountMinor": minor, "currency": "TRY", "paymentMethod": "tok"})
	require.NoError(b.t, err)
	request := httptest.NewRequest(http.MethodPost, "/v1/charges", bytes.NewReader(body))
	request.Header.Set("Idempotency-Key", uuid.NewString())
	answer := httptest.NewRecorder()
	b.sim.ServeHTTP(answer, request)
	require.Equal(b.t, http.StatusCreated, answer.Code, answer.Body)
	var m pspsim.Movement
	require.NoError(b.t, json.Unmarshal(answer.Body.Bytes(), &m))
	return m
}

// pendingFor is how long the provider keeps a charge pending, by its own clock.
const pendingFor = 10 * time.Minute

// scripts fixes what happens to the first requests of every reference.
func (b *bundle) scripts(steps ...string) {
	b.t.Helper()
	script := pspsim.Script{Reference: "*"}
	for _, text := range steps {
		step, err := pspsim.ParseStep(text)
		require.NoError(b.t, err)
		script.Steps = append(script.Steps, step)
	}
	require.NoError(b.t, b.sim.SetFaults(pspsim.Faults{
		Rates:   pspsim.Rates{PendingMS: int(pendingFor.Milliseconds())},
		Scripts: []pspsim.Script{script},
	}))
}

// pays lets the worker send payments, and waits for what they come to.
func (b *bundle) pays(count int, state payment.State) []operation.NewPayment {
	b.t.Helper()
	payments := fixture.AcceptMany(b.t, b.DB.App, count)
	b.DueNow(payments...)
	b.AwaitState(payments, state)
	return payments
}

// claims is a payment that succeeded here although the provider knows nothing of it.
func (b *bundle) claims() operation.NewPayment {
	b.t.Helper()
	p := fixture.Accept(b.t, b.DB.App)
	views, err := operation.Views(b.t.Context(), b.DB.App, p.MerchantID, []uuid.UUID{p.PaymentID})
	require.NoError(b.t, err)
	settle.Charge(b.t, b.DB.App, views[p.PaymentID], payment.VerdictCaptured)
	return p
}

// tells has somebody say that a payment was captured, of which the provider knows
// nothing.
func (b *bundle) tells(p operation.NewPayment) {
	b.t.Helper()
	said := provider.Answer{Verdict: payment.VerdictCaptured, Amount: p.Amount, ObjectID: "ch_elsewhere"}
	_, err := b.Applier.Do(b.t.Context(), outcome.Outcome{
		PaymentID: p.PaymentID, Learned: outcome.Learned(p.OperationID, evidence.Operator, said, time.Now()),
	})
	require.NoError(b.t, err)
}

// findings are the open ones.
func (b *bundle) findings() []drift.Finding {
	b.t.Helper()
	open, err := drift.Findings(b.t.Context(), b.DB.App, drift.Filter{ProviderAccount: fixture.Account})
	require.NoError(b.t, err)
	return open
}

// cases are the kinds of all cases about a payment.
func (b *bundle) cases(p operation.NewPayment) []string {
	b.t.Helper()
	rows, err := b.DB.App.Query(b.t.Context(), "SELECT kind || ' ' || plan FROM payment_case WHERE payment_id = $1 ORDER BY id", p.PaymentID)
	require.NoError(b.t, err)
	kinds, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b.t, err)
	return kinds
}

// count is the number of rows of a table.
func (b *bundle) count(table string) int { return b.Count("SELECT count(*) FROM " + table) }

// leftovers is what an unfinished scan would keep.
func (b *bundle) leftovers() int { return b.count("drift_seen") + b.count("drift_question") }
