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
	"github.com/payonce/payonce/internal/provider/stripe"
)

// Options are what the configuration says about a connector. Zero means the
// connector's own default.
type Options struct {
	// Address is the provider's URL. A connector to a provider of its own kind knows
	// the address itself.
	Address string
	// Key is the API key, empty for providers without.
	Key string
	// Account is the provider's own name of the account; empty: the provider is asked.
	Account string
	// Timeout bounds one call to the provider.
	Timeout time.Duration
	// Grace is how long after the last possible send a "not found" proves that
	// nothing was taken.
	Grace time.Duration
}

// kind is one sort of connector.
type kind struct {
	build func(o Options) (provider.Connector, error)
	// anonymous options are enough to make one that says what it declares.
	anonymous Options
}

var registry = map[string]kind{
	simulated.Full.String():     newSimulated(simulated.Full),
	simulated.NoKeys.String():   newSimulated(simulated.NoKeys),
	simulated.KeysOnly.String(): newSimulated(simulated.KeysOnly),
	simulated.Bare.String():     newSimulated(simulated.Bare),
	stripe.Name:                 {build: newStripe, anonymous: Options{Address: nowhere, Key: "sk_test_none"}},
}

// nowhere stands for a provider's address where nobody calls it. The name is
// reserved by RFC 2606 and never resolves.
const nowhere = "https://provider.invalid"

func newSimulated(v simulated.Variant) kind {
	build := func(o Options) (provider.Connector, error) {
		switch {
		case o.Key != "":
			return nil, fmt.Errorf("%s takes no API key", v)
		case o.Address == "":
			return nil, fmt.Errorf("%s needs the provider's URL", v)
		}
		connector, err := simulated.New(v, o.Address, simulated.Options{Account: o.Account, Timeout: o.Timeout, Grace: o.Grace})
		if err != nil {
			return nil, err // a nil *Connector must not become a non-nil interface
		}
		return connector, nil
	}
	return kind{build: build, anonymous: Options{Address: nowhere}}
}

func newStripe(o Options) (provider.Connector, error) {
	connector, err := stripe.New(o.Address, stripe.Options{Key: o.Key, Account: o.Account, Timeout: o.Timeout, Grace: o.Grace})
	if err != nil {
		return nil, err
	}
	return connector, nil
}

// New returns the named connector. Errors: an unknown name, with the known ones;
// what the connector says about the options. No error holds the key or the address.
func New(name string, o Options) (provider.Connector, error) {
	k, err := find(name)
	if err != nil {
		return nil, err
	}
	return k.build(o)
}

// Declared returns what the named connector declares with its default options.
// Errors: an unknown name, with the known ones.
func Declared(name string) (provider.Capabilities, error) {
	k, err := find(name)
	if err != nil {
		return provider.Capabilities{}, err
	}
	connector, err := k.build(k.anonymous)
	if err != nil {
		return provider.Capabilities{}, err
	}
	return connector.Capabilities(), nil
}

// Notifier returns what checks and reads the named connector's webhooks, and nil
// where its provider sends none. It needs no credentials. Errors: an unknown name,
// with the known ones.
func Notifier(name string) (provider.Notifier, error) {
	k, err := find(name)
	if err != nil {
		return nil, err
	}
	connector, err := k.build(k.anonymous)
	if err != nil {
		return nil, err
	}
	notifier, _ := connector.(provider.Notifier)
	return notifier, nil
}

func find(name string) (kind, error) {
	k, ok := registry[name]
	if !ok {
		return kind{}, fmt.Errorf("%q is no connector; known are %s", name, strings.Join(Names(), ", "))
	}
	return k, nil
}

// Names returns the known names, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }
