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
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

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

// Main runs a package's tests and stops the servers that they started. Without it
// the servers end a moment after the test process, with it before. It fails the
// package when goroutines are left over.
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	running.Lock()
	for _, stop := range running.stop {
		stop()
	}
	running.Unlock()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString("goroutines are left over after the tests: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// shared starts something once per test process, for whichever test asks first.
// It outlives that test, so it gets no test's context.
func shared[T any](start func(context.Context) (T, error)) func() (T, error) {
	return sync.OnceValues(func() (T, error) { return start(context.Background()) })
}
