package app

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/merchant"
)

// Merchant is a new merchant. APIKey is shown this once.
type Merchant struct {
	ID     string `json:"id"`
	APIKey string `json:"apiKey"`
}

// ListedMerchant is a merchant as it is set up.
type ListedMerchant struct {
	ID       uuid.UUID `json:"id"`
	Name     string    `json:"name"`
	Provider string    `json:"provider"`
	MerchantSettings
	LiveKeys  int       `json:"liveKeys"`
	CreatedAt time.Time `json:"createdAt"`
}

// MerchantSettings are what a merchant has of its own. Without a rate it has the
// services' limit.
type MerchantSettings struct {
	RatePerSecond     int  `json:"ratePerSecond,omitempty"`
	RateBurst         int  `json:"rateBurst,omitempty"`
	ChecksIdentifiers bool `json:"checksIdentifiers"`
	DerivesKeys       bool `json:"derivesKeys"`
}

// MerchantPage is one page of merchants.
type MerchantPage struct {
	Merchants []ListedMerchant `json:"merchants"`
	// Next, if given, is the cursor of the next page.
	Next string `json:"next,omitempty"`
}

// MerchantDetails is all about one merchant.
type MerchantDetails struct {
	ListedMerchant
	Keys    []MerchantKey    `json:"keys"`
	Changes []MerchantChange `json:"changes"`
}

// MerchantKey is an API key without its secret.
type MerchantKey struct {
	Prefix    string     `json:"prefix"`
	CreatedAt time.Time  `json:"createdAt"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
}

// MerchantChange is something that a person did to a merchant.
type MerchantChange struct {
	Change string    `json:"change"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// openMerchants connects to the database of the merchants, and to nothing else.
func openMerchants(ctx context.Context, environ []string) (desk, error) {
	c, err := config.Load[config.MerchantTool](environ)
	if err != nil {
		return desk{}, err
	}
	pool, err := toolPool(ctx, c.DatabaseURL, 1)
	return desk{pool: pool}, err
}

// CreateMerchant creates a merchant whose payments go to a provider account.
func CreateMerchant(ctx context.Context, environ []string, name, account string) (Merchant, error) {
	d, err := openMerchants(ctx, environ)
	if err != nil {
		return Merchant{}, err
	}
	defer d.close()
	created, key, err := merchant.NewDirectory(d.pool).Create(ctx, name, account)
	if err != nil {
		return Merchant{}, err
	}
	return Merchant{ID: created.ID.String(), APIKey: key}, nil
}

// ListMerchants shows a page of merchants, the oldest first.
func ListMerchants(ctx context.Context, environ []string, after uuid.UUID) (MerchantPage, error) {
	d, err := openMerchants(ctx, environ)
	if err != nil {
		return MerchantPage{}, err
	}
	defer d.close()
	found, err := merchant.List(ctx, d.pool, after)
	if err != nil {
		return MerchantPage{}, err
	}
	page := MerchantPage{Merchants: make([]ListedMerchant, len(found))}
	for i, m := range found {
		page.Merchants[i] = listed(m)
	}
	if len(found) == merchant.PageMax {
		page.Next = found[len(found)-1].ID.String()
	}
	return page, nil
}

// ShowMerchant shows one merchant with its keys and with what was changed about it.
func ShowMerchant(ctx context.Context, environ []string, id uuid.UUID) (MerchantDetails, error) {
	d, err := openMerchants(ctx, environ)
	if err != nil {
		return MerchantDetails{}, err
	}
	defer d.close()
	found, err := merchant.Show(ctx, d.pool, id)
	if err != nil {
		return MerchantDetails{}, err
	}
	shown := MerchantDetails{
		ListedMerchant: listed(found.Listed), Keys: make([]MerchantKey, len(found.Keys)), Changes: make([]MerchantChange, len(found.Changes)),
	}
	for i, k := range found.Keys {
		shown.Keys[i] = MerchantKey(k)
	}
	for i, c := range found.Changes {
		shown.Changes[i] = MerchantChange{Change: c.Change, By: c.By, Reason: c.Reason, At: c.At}
	}
	return shown, nil
}

func listed(m merchant.Listed) ListedMerchant {
	return ListedMerchant{
		ID: m.ID, Name: m.Name, Provider: m.ProviderAccount, MerchantSettings: settingsOf(m.Settings), LiveKeys: m.LiveKeys, CreatedAt: m.CreatedAt,
	}
}

func settingsOf(s merchant.Settings) MerchantSettings {
	return MerchantSettings{
		RatePerSecond: s.Limit.PerSecond, RateBurst: s.Limit.Burst, ChecksIdentifiers: s.ChecksIdentifiers, DerivesKeys: s.DerivesKeys,
	}
}

// decideMerchant is desk.within for what is decided about merchants.
func decideMerchant(ctx context.Context, environ []string, o Operator, decide func(pgx.Tx, merchant.Decision) error) error {
	d, err := openMerchants(ctx, environ)
	if err != nil {
		return err
	}
	defer d.close()
	return d.within(ctx, o.Execute, func(tx pgx.Tx) error { return decide(tx, merchant.Decision{By: o.By, Reason: o.Reason}) })
}

// RotateMerchantKey gives a merchant a second API key, which is shown this once; not
// by a dry run, whose key is never stored.
func RotateMerchantKey(ctx context.Context, environ []string, id uuid.UUID, o Operator) (Merchant, error) {
	rotated := Merchant{ID: id.String()}
	var key string
	err := decideMerchant(ctx, environ, o, func(tx pgx.Tx, why merchant.Decision) (err error) {
		key, err = merchant.Rotate(ctx, tx, id, why)
		return err
	})
	if err == nil && o.Execute {
		rotated.APIKey = key
	}
	return rotated, err
}

// RevokedKey is an API key that works no more, merchant.CacheAge after it was revoked.
type RevokedKey struct {
	Prefix   string    `json:"prefix"`
	Merchant uuid.UUID `json:"merchant"`
	KeysLeft int       `json:"keysLeft"` // without one the merchant can do nothing
}

// RevokeMerchantKey ends the API key with this prefix.
func RevokeMerchantKey(ctx context.Context, environ []string, prefix string, o Operator) (RevokedKey, error) {
	var ended merchant.Revoked
	err := decideMerchant(ctx, environ, o, func(tx pgx.Tx, why merchant.Decision) (err error) {
		ended, err = merchant.Revoke(ctx, tx, prefix, why)
		return err
	})
	if err != nil {
		return RevokedKey{}, err
	}
	return RevokedKey{Prefix: prefix, Merchant: ended.Merchant, KeysLeft: ended.KeysLeft}, nil
}

// ConfigureMerchant changes a merchant's settings and returns all of them.
func ConfigureMerchant(ctx context.Context, environ []string, id uuid.UUID, o Operator, change func(*MerchantSettings)) (MerchantSettings, error) {
	var now merchant.Settings
	err := decideMerchant(ctx, environ, o, func(tx pgx.Tx, why merchant.Decision) (err error) {
		now, err = merchant.Configure(ctx, tx, id, why, func(s *merchant.Settings) {
			shown := settingsOf(*s)
			change(&shown)
			*s = merchant.Settings{
				Limit:             merchant.Limit{PerSecond: shown.RatePerSecond, Burst: shown.RateBurst},
				ChecksIdentifiers: shown.ChecksIdentifiers, DerivesKeys: shown.DerivesKeys,
			}
		})
		return err
	})
	return settingsOf(now), err
}
