package merchant

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed lock_keys.sql
var lockKeysSQL string

//go:embed revoke_key.sql
var revokeKeySQL string

//go:embed lock_settings.sql
var lockSettingsSQL string

//go:embed change_settings.sql
var changeSettingsSQL string

//go:embed record_change.sql
var recordChangeSQL string

// Decision is who changes something about a merchant, and why. It is kept with what
// was changed.
type Decision struct {
	By     string // 1 to 200 characters
	Reason string // 1 to 2000 characters
}

// Rotate gives a merchant a second API key, so that its services can change over
// before the old one is revoked, and returns it. The key works once tx has committed.
//
// Errors: ErrUnknownMerchant, and ErrTooManyKeys when there are two live keys already.
func Rotate(ctx context.Context, tx pgx.Tx, id uuid.UUID, d Decision) (string, error) {
	var first string
	err := tx.QueryRow(ctx, lockKeysSQL, id).Scan(&first)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("rotating the API key of merchant %s: %w", id, ErrUnknownMerchant)
	}
	if err != nil {
		return "", fmt.Errorf("rotating the API key of merchant %s: %w", id, err)
	}
	added, text, err := addKey(ctx, tx, id)
	if err != nil {
		return "", fmt.Errorf("rotating the API key of merchant %s: %w", id, err)
	}
	return text, record(ctx, tx, id, "added API key "+added.prefix, d)
}

// Revoked is a key that ended.
type Revoked struct {
	Merchant uuid.UUID
	KeysLeft int // live keys that the merchant still has; without one it can do nothing
}

// Revoke ends the API key with this prefix, the twelve characters between po_ and
// the next underscore. It takes effect within CacheAge of the commit. It returns
// ErrUnknownKey when no live key has this prefix.
func Revoke(ctx context.Context, tx pgx.Tx, prefix string, d Decision) (Revoked, error) {
	if len(prefix) != prefixChars {
		return Revoked{}, ErrUnknownKey // perhaps a whole key, which must not get into an error
	}
	var r Revoked
	err := tx.QueryRow(ctx, revokeKeySQL, prefix).Scan(&r.Merchant, &r.KeysLeft)
	if errors.Is(err, pgx.ErrNoRows) {
		return Revoked{}, ErrUnknownKey
	}
	if err != nil {
		return Revoked{}, fmt.Errorf("revoking API key %s: %w", prefix, err)
	}
	return r, record(ctx, tx, r.Merchant, "revoked API key "+prefix, d)
}

// Configure changes a merchant's settings and returns them as they are then. They are
// in force everywhere within CacheAge of the commit.
//
// Errors: ErrUnknownMerchant, ErrInvalidLimit.
func Configure(ctx context.Context, tx pgx.Tx, id uuid.UUID, d Decision, change func(*Settings)) (Settings, error) {
	var s Settings
	err := tx.QueryRow(ctx, lockSettingsSQL, id).Scan(&s.Limit.PerSecond, &s.Limit.Burst, &s.ChecksIdentifiers, &s.DerivesKeys)
	if errors.Is(err, pgx.ErrNoRows) {
		return Settings{}, fmt.Errorf("changing merchant %s: %w", id, ErrUnknownMerchant)
	}
	if err != nil {
		return Settings{}, fmt.Errorf("changing merchant %s: %w", id, err)
	}
	change(&s)
	if err := s.Limit.check(); err != nil {
		return Settings{}, err
	}
	if _, err := tx.Exec(ctx, changeSettingsSQL, id, s.Limit.PerSecond, s.Limit.Burst, s.ChecksIdentifiers, s.DerivesKeys); err != nil {
		return Settings{}, fmt.Errorf("changing merchant %s: %w", id, err)
	}
	return s, record(ctx, tx, id, "set "+s.String(), d)
}

func (l Limit) check() error {
	if l.IsZero() {
		return nil
	}
	if l.PerSecond < 1 || l.PerSecond > LimitPerSecondMax || l.Burst < 1 || l.Burst > LimitBurstMax {
		return ErrInvalidLimit
	}
	return nil
}

// String lists all settings, for people.
func (s Settings) String() string {
	return fmt.Sprintf("limit %s; identifier check %s; derived keys %s", s.Limit, onOff(s.ChecksIdentifiers), onOff(s.DerivesKeys))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func record(ctx context.Context, tx pgx.Tx, id uuid.UUID, change string, d Decision) error {
	name, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("naming a change of merchant %s: %w", id, err)
	}
	if _, err := tx.Exec(ctx, recordChangeSQL, name, id, change, d.By, d.Reason); err != nil {
		return fmt.Errorf("recording a change of merchant %s: %w", id, err)
	}
	return nil
}
