package webhook

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/provider"
)

//go:embed store.sql
var storeSQL string

// ErrUnknownAccount is returned for accounts whose webhooks are not taken.
var ErrUnknownAccount = errors.New("no webhooks are taken for this account")

// StoresMax webhooks of a process are stored at once, which leaves the connections
// of its pool to the merchants.
const StoresMax = 4

// Source is an account from which webhooks are taken.
type Source struct {
	Notifier provider.Notifier
	// Secrets are all that are valid now: two or more while one is being replaced.
	Secrets []string
}

// Receiver takes webhooks in. Make it with NewReceiver.
type Receiver struct {
	pool    *pgxpool.Pool
	sources map[string]Source // by account
	log     *zap.Logger
	now     func() time.Time
	stores  chan struct{}
}

// NewReceiver returns a receiver. The signed time is compared with now, the clock of
// this machine and not the database's: what nobody signed must cost no question to
// the database. The tolerance only keeps recordings out, which the event's id does
// again; it decides about no money.
func NewReceiver(pool *pgxpool.Pool, sources map[string]Source, now func() time.Time, log *zap.Logger) *Receiver {
	return &Receiver{pool: pool, sources: sources, log: log, now: now, stores: make(chan struct{}, StoresMax)}
}

// Receive checks a webhook and stores it. It returns once the row has committed, and
// for one that is known already; both are received. Errors: ErrUnknownAccount,
// provider.ErrWebhookSignature, provider.ErrWebhookTime; any other one is ours, and
// the provider should send the webhook again.
func (r *Receiver) Receive(ctx context.Context, account string, w provider.Webhook) error {
	source, ok := r.sources[account]
	if !ok || len(source.Secrets) == 0 {
		return ErrUnknownAccount
	}
	signed, err := source.Notifier.Verify(w, source.Secrets, r.now())
	if err != nil {
		return err
	}
	select {
	case r.stores <- struct{}{}:
		defer func() { <-r.stores }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.store(ctx, account, signed, w.Body)
}

// store writes the event, or nothing where it is known. Another word under a known
// id is kept beside it, and somebody has to be told: the provider broke its word, or
// has a secret that is not only its own.
func (r *Receiver) store(ctx context.Context, account string, signed provider.SignedEvent, body []byte) error {
	hash := sha256.Sum256(body)
	eventID, eventType := signed.ID, signed.Type
	if !storable(eventID) || eventID == "" {
		eventID = "sha256:" + hex.EncodeToString(hash[:]) // the same for each delivery, too
	}
	if !storable(eventType) {
		eventType = ""
	}
	headers, err := json.Marshal(signed.Headers)
	if err != nil {
		return fmt.Errorf("writing the headers of a webhook of %s: %w", account, err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("naming a webhook of %s: %w", account, err)
	}
	if body == nil {
		body = []byte{} // an empty body is one, and no absent one
	}
	var fresh bool
	err = r.pool.QueryRow(ctx, storeSQL, id, account, eventID, eventType, hash[:], headers, body, signed.Says).Scan(&fresh)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // it is known already
	case err != nil:
		return fmt.Errorf("storing a webhook of %s: %w", account, err)
	case !fresh:
		r.log.Error("a provider said something else under the id of an event that it had told before; both are kept, the first one counts",
			zap.String("provider_account", account), zap.String("event_id", eventID))
	}
	return nil
}

// storable keeps out what PostgreSQL cannot hold as text, and what is no id.
func storable(text string) bool {
	return len(text) <= idBytesMax && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
