// Package testkit gives tests real parts: a PostgreSQL database per test, a Kafka
// broker per test.
//
//	test ──> testkit ──> a server from the environment, else one started here
//
// A test never shares a database or a topic with another one, so all tests run in
// parallel, also those of several packages. What a test was given is gone when it
// ends; servers started here end with the test process.
package testkit

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
)

// leftOverWait is far above the bounds that the product puts on its own ends.
const leftOverWait = 15 * time.Second

// running are the servers that this process started.
var running struct {
	sync.Mutex
	stop []func()
}

func stopAtEnd(stop func()) {
	running.Lock()
	defer running.Unlock()
	running.stop = append(running.stop, stop)
}

func stopServers() {
	running.Lock()
	defer running.Unlock()
	for _, stop := range running.stop {
		stop()
	}
}

// Main runs a package's tests and stops the servers that they started. Without it
// the servers end a moment after the test process, with it before. It fails the
// package when goroutines are left over; the options name those that may be.
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
func Main(m *testing.M, mayRemain ...goleak.Option) {
	code := m.Run()
	stopServers()
	if code == 0 {
		if err := leftOver(mayRemain); err != nil {
			fmt.Fprintln(os.Stderr, "after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leftOver returns the goroutines that do not end. What a test has told to end may
// need a while on a busy machine, such as a client whose broker is gone.
func leftOver(mayRemain []goleak.Option) error {
	var err error
	for deadline := time.Now().Add(leftOverWait); time.Now().Before(deadline); {
		if err = goleak.Find(mayRemain...); err == nil {
			return nil
		}
	}
	return err
}

// shared starts something once per test process, for whichever test asks first.
// It outlives that test, so it gets no test's context.
func shared[T any](start func(context.Context) (T, error)) func() (T, error) {
	return sync.OnceValues(func() (T, error) { return start(context.Background()) })
}

// uniqueName is a name for what one test owns on a shared server. It is valid
// unquoted in SQL and in a topic.
func uniqueName() string {
	id := uuid.New()
	return "test_" + hex.EncodeToString(id[:])
}
