// Package stripe is the connector to Stripe.
//
//	worker ──Prepare──> PaymentIntent, unconfirmed ──id committed──Send──> confirm
//	reconciler ──Inquire, CloseDoor──> retrieve, cancel
//
// A charge is one PaymentIntent. It is created without being confirmed, which moves
// nothing; its id is stored under the attempt's fence; then it is confirmed
// off-session with the operation's id as the key. So a payment is asked for by an
// id that only we can have and not by a search, a confirm that arrives twice meets
// the state of one object, and canceling that object closes the door for good.
//
// Requests are built and answers parsed by stripe-go, with its retries, telemetry
// and global state off; each of its requests goes through the project's own wire,
// which decides about every byte. An outcome is taken only from the state of our
// own PaymentIntent or refund, in Stripe's own format.
package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/payonce/payonce/internal/provider"
)

// Name is the connector's name in the configuration.
const Name = "stripe"

const (
	// TimeoutDefault bounds one call. A confirm waits for the card's bank.
	TimeoutDefault = 20 * time.Second
	// GraceDefault is what an unconfirmed PaymentIntent proves nothing within:
	// Stripe may still be working on a confirm, for which its own clients wait 80 s.
	GraceDefault = 90 * time.Second
)

// recipe changes with the parameters that we send, and with the version of the API
// that stripe-go speaks: both decide about a request's bytes.
const recipe = Name + "/2/" + stripe.APIVersion

// Options tune a connector. Zero values are the defaults above.
type Options struct {
	// Key is the secret or restricted API key. It appears nowhere but in requests.
	Key string
	// Account is the id of the account that the key opens, such as acct_…, for
	// keys that may not read it. Empty: Stripe is asked.
	Account string
	Timeout time.Duration
	Grace   time.Duration
}

// Connector implements provider.Connector, provider.Preparer and provider.Lister.
type Connector struct {
	provider.Identity
	capabilities provider.Capabilities
	client       *stripe.Client
	wire         *wire
	mode         string
}

// New returns a connector to the API at address, or to Stripe's own when address is
// empty. It connects at the first call. Errors: a key that is missing or is none, an
// address that is no http or https URL, contradicting options.
func New(address string, o Options) (*Connector, error) {
	if err := checkKey(o.Key); err != nil {
		return nil, err
	}
	if address == "" {
		address = stripe.APIURL
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.User != nil || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, errors.New("the provider's address is not of the form https://HOST")
	}
	c := &Connector{capabilities: capabilities(o), wire: newWire()}
	if err := c.capabilities.Validate(); err != nil {
		return nil, fmt.Errorf("the capabilities of %s: %w", Name, err)
	}
	c.mode = modeOf(o.Key)
	if o.Account != "" {
		c.Learn(provider.InMode(o.Account, c.mode))
	}
	c.client = newClient(o.Key, strings.TrimRight(address, "/"), c.wire)
	return c, nil
}

// checkKey refuses what would be refused by every call. A publishable key (pk_) can
// confirm nothing and belongs into browsers. The message never holds the key.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("stripe needs an API key")
	case !strings.HasPrefix(key, "sk_") && !strings.HasPrefix(key, "rk_"):
		return errors.New("stripe's API key must be a secret key (sk_…) or a restricted key (rk_…)")
	case modeOf(key) == "":
		return errors.New("stripe's API key must name its mode (sk_live_…, rk_test_…)")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("stripe's API key holds a character that no key has")
	}
	return nil
}

// The modes of an account (https://docs.stripe.com/keys). Objects of one do not exist
// in the other.
const (
	liveMode = "live"
	testMode = "test"
)

// modeOf reads the mode from a key's prefix, empty where there is none.
func modeOf(key string) string {
	for _, mode := range []string{liveMode, testMode} {
		if len(key) > len("sk_") && strings.HasPrefix(key[len("sk_"):], mode+"_") {
			return mode
		}
	}
	return ""
}

// Name implements provider.Connector.
func (c *Connector) Name() string { return Name }

// Capabilities implements provider.Connector.
func (c *Connector) Capabilities() provider.Capabilities { return c.capabilities }

// Recipe implements provider.Connector.
func (c *Connector) Recipe() string { return c.Identity.Recipe(recipe) }

// Identify implements provider.Connector: Stripe says whose key it is.
func (c *Connector) Identify(ctx context.Context) error {
	if c.Known() {
		return nil
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	account, err := c.client.V1Accounts.Retrieve(ctx, nil)
	if err != nil {
		return fmt.Errorf("asking stripe which account the key opens: %w", plain(err))
	}
	if account.Object != "account" || account.ID == "" {
		return errors.New("asking stripe which account the key opens: the answer names none")
	}
	c.Learn(provider.InMode(account.ID, c.mode))
	return nil
}

// Close closes connections that no call uses.
func (c *Connector) Close() { c.wire.transport.CloseIdleConnections() }

// bounded gives a call its time limit, whatever the caller's context allows.
func (c *Connector) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.capabilities.Timeout)
}

var (
	_ provider.Connector = (*Connector)(nil)
	_ provider.Preparer  = (*Connector)(nil)
	_ provider.Lister    = (*Connector)(nil)
)
