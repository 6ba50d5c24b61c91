package merchant

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed create_merchant.sql
var createMerchantSQL string

//go:embed create_key.sql
var createKeySQL string

// NameCharsMax bounds a merchant's name, which people read in lists.
const NameCharsMax = 200

var accountPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Create adds a merchant whose payments go to a provider account, and returns its
// first API key, which cannot be shown again. Two merchants may have one name.
func (d *Directory) Create(ctx context.Context, name, providerAccount string) (Merchant, string, error) {
	if err := check(name, providerAccount); err != nil {
		return Merchant{}, "", err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Merchant{}, "", fmt.Errorf("naming a merchant: %w", err)
	}
	created := Merchant{ID: id, Name: name, ProviderAccount: providerAccount}
	var text string
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, createMerchantSQL, id, name, providerAccount); err != nil {
			return err
		}
		_, text, err = addKey(ctx, tx, id)
		return err
	})
	if err != nil {
		return Merchant{}, "", fmt.Errorf("creating merchant %s: %w", id, err)
	}
	return created, text, nil
}

func addKey(ctx context.Context, tx pgx.Tx, id uuid.UUID) (apiKey, string, error) {
	key, text := newKey()
	tag, err := tx.Exec(ctx, createKeySQL, key.prefix, id, key.hash[:], LiveKeysMax)
	if err != nil {
		return apiKey{}, "", err
	}
	if tag.RowsAffected() == 0 {
		return apiKey{}, "", ErrTooManyKeys
	}
	return key, text, nil
}

func check(name, providerAccount string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if name != strings.TrimSpace(name) || name == "" || utf8.RuneCountInString(name) > NameCharsMax || strings.ContainsFunc(name, hidden) {
		return fmt.Errorf("a merchant's name has 1 to %d printable characters and no space at either end", NameCharsMax)
	}
	if !accountPattern.MatchString(providerAccount) {
		return errors.New("a provider account has 1 to 63 characters of a-z, 0-9 and -, and begins with a letter or digit")
	}
	return nil
}
