// Package connectors knows every connector by the name that the configuration
// writes.
//
//	PAYONCE_PROVIDER=ACCOUNT=simulated ──> New("simulated", …) ──> provider.Connector
//
// It is apart from package provider, which the connectors import.
package connectors

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/simulated"
)

// Options are what the configuration says about all connectors. Zero means the
// connector's own default.
type Options struct {
	// Timeout bounds one call to the provider.
	Timeout time.Duration
	// Grace is how long after the last possible send a "not found" proves that
	// nothing was taken.
	Grace time.Duration
}

var registry = map[string]func(address string, o Options) (provider.Connector, error){
	simulated.Full.String():     newSimulated(simulated.Full),
	simulated.NoKeys.String():   newSimulated(simulated.NoKeys),
	simulated.KeysOnly.String(): newSimulated(simulated.KeysOnly),
	simulated.Bare.String():     newSimulated(simulated.Bare),
}

func newSimulated(v simulated.Variant) func(string, Options) (provider.Connector, error) {
	return func(address string, o Options) (provider.Connector, error) {
		connector, err := simulated.New(v, address, simulated.Options{Timeout: o.Timeout, Grace: o.Grace})
		if err != nil {
			return nil, err // a nil *Connector must not become a non-nil interface
		}
		return connector, nil
	}
}

// New returns the named connector to the provider at address. Errors: an unknown
// name, with the known ones; what the connector says about address and options.
func New(name, address string, o Options) (provider.Connector, error) {
	build, ok := registry[name]
	if !ok {
		return nil, fmt.Errorf("%q is no connector; known are %s", name, strings.Join(Names(), ", "))
	}
	return build(address, o)
}

// Names returns the known names, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }
