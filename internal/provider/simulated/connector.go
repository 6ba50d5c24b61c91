// Package simulated is the connector to the simulated provider.
//
//	worker, reconciler ──> Connector ──HTTP──> pspsim
//
// It takes from the provider's own words only what they prove: a verdict needs the
// provider's format, our reference and, for a capture, our amount and currency.
// Everything else that was or may have been sent is unclear.
//
// It comes in four variants that declare less and less, so that each way of
// resolving an unknown outcome can be run against the same provider. A variant does
// not use what it does not declare.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/payonce/payonce/internal/provider"
)

// Variant is what the connector declares.
type Variant int

// The variants.
const (
	Full     Variant = iota // keys, inquiry, void by reference
	NoKeys                  // inquiry and void by reference
	KeysOnly                // keys
	Bare                    // nothing: unknown outcomes wait for a person
)

var names = [...]string{"simulated", "simulated-nokeys", "simulated-keysonly", "simulated-bare"}

// String returns the variant's name in the configuration.
func (v Variant) String() string { return names[v] }

const (
	// GraceDefault covers the provider's bookkeeping, which is immediate. With
	// the "lagging" inquiry, set a grace beyond the lag.
	GraceDefault = 200 * time.Millisecond
	// TimeoutDefault is wide for a provider on the same machine.
	TimeoutDefault = 5 * time.Second
	// horizon is how long the provider is taken to keep a key.
	horizon = 24 * time.Hour
)

// Options tune a connector. Zero values are the defaults above.
type Options struct {
	Timeout time.Duration
	Grace   time.Duration
	// Account is the provider's name for the account; empty: the provider is asked.
	Account string
	// Horizon is how long keys are declared to be kept; default 24 h.
	Horizon time.Duration
}

// Connector implements provider.Connector.
type Connector struct {
	provider.Identity
	variant      Variant
	capabilities provider.Capabilities
	base         *url.URL
	transport    *provider.Transport
	client       *http.Client
}

// New returns a connector to the provider at address. It connects at the first
// call. Errors: an address that is no http or https URL, or contradicting options.
func New(variant Variant, address string, o Options) (*Connector, error) {
	base, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("the provider's address %q is not of the form http://HOST:PORT", redact(address))
	}
	c := &Connector{variant: variant, capabilities: capabilities(variant, o), base: base, transport: provider.NewTransport(nil)}
	if err := c.capabilities.Validate(); err != nil {
		return nil, fmt.Errorf("the capabilities of %s: %w", variant, err)
	}
	if o.Account != "" {
		c.Learn(o.Account)
	}
	c.client = provider.NewHTTPClient(c.transport)
	return c, nil
}

// redact keeps credentials of a mistyped address out of messages.
func redact(address string) string {
	if _, host, ok := strings.Cut(address, "@"); ok {
		return "…@" + host
	}
	return address
}

func capabilities(v Variant, o Options) provider.Capabilities {
	c := provider.Capabilities{
		NotTakenStatuses: []int{http.StatusTooManyRequests},
		AnyCurrency:      true,
		Refunds:          true,
		Voids:            true,
		Timeout:          orDefault(o.Timeout, TimeoutDefault),
	}
	if v == Full || v == KeysOnly {
		c.Key = provider.Key{
			Supported: true, Header: keyHeader, LengthMax: 255, Horizon: orDefault(o.Horizon, horizon),
			Replay: provider.ReplayFirstAnswer, Mismatch: provider.MismatchRefused, KeepsFailures: true, Serialises: true,
		}
	}
	if v == Full || v == NoKeys {
		c.Inquiry = provider.Inquiry{Supported: true, NotFoundAuthoritative: true, Grace: orDefault(o.Grace, GraceDefault)}
		c.VoidByReference = true
	}
	return c
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// Name returns the variant's name.
func (c *Connector) Name() string { return c.variant.String() }

// Recipe implements provider.Connector. Variants differ in the key's header.
func (c *Connector) Recipe() string { return c.Identity.Recipe(c.variant.String() + "/1") }

// Identify implements provider.Connector.
func (c *Connector) Identify(ctx context.Context) error {
	if c.Known() {
		return nil
	}
	var account struct {
		ID string `json:"id"`
	}
	if err := c.read(ctx, c.base.JoinPath("v1", "account"), &account); err != nil {
		return fmt.Errorf("asking the provider which account this is: %w", err)
	}
	if account.ID == "" {
		return errors.New("asking the provider which account this is: the answer names none")
	}
	c.Learn(account.ID)
	return nil
}

// Capabilities returns what the variant declares.
func (c *Connector) Capabilities() provider.Capabilities { return c.capabilities }

// Close closes connections that no call uses.
func (c *Connector) Close() { c.transport.CloseIdleConnections() }

// bounded gives a call its time limit, whatever the caller's context allows.
func (c *Connector) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.capabilities.Timeout)
}

var (
	_ provider.Connector = (*Connector)(nil)
	_ provider.Lister    = (*Connector)(nil)
)
