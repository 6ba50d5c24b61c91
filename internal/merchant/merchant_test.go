package merchant_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// prefixOf returns the public part of a key.
func prefixOf(key string) string { return strings.Split(key, "_")[1] }

var because = merchant.Decision{By: "ayse", Reason: "a test"}

func within(t *testing.T, database *testkit.Database, change func(pgx.Tx) error) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), database.App, change)
}

func rotate(t *testing.T, database *testkit.Database, id uuid.UUID) (key string, err error) {
	t.Helper()
	return key, within(t, database, func(tx pgx.Tx) (err error) {
		key, err = merchant.Rotate(t.Context(), tx, id, because)
		return err
	})
}

func revoke(t *testing.T, database *testkit.Database, prefix string) (r merchant.Revoked, err error) {
	t.Helper()
	return r, within(t, database, func(tx pgx.Tx) (err error) {
		r, err = merchant.Revoke(t.Context(), tx, prefix, because)
		return err
	})
}

func TestI13_AKeyNamesItsMerchant(t *testing.T) {
	t.Parallel()
	directory := merchant.NewDirectory(testkit.NewDatabase(t).App)
	first, firstKey, err := directory.Create(t.Context(), "Çiçek A.Ş.", "simulated")
	require.NoError(t, err)
	second, secondKey, err := directory.Create(t.Context(), "Çiçek A.Ş.", "simulated-nokeys")
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID)
	require.Regexp(t, `^po_[a-z0-9]{12}_[0-9a-f]{64}$`, firstKey)
	for range 2 { // from the database and from the cache
		found, err := directory.Authenticate(t.Context(), firstKey)
		require.NoError(t, err)
		require.Equal(t, first, found)
		found, err = directory.Authenticate(t.Context(), secondKey)
		require.NoError(t, err)
		require.Equal(t, second, found)
	}
}

func TestI13_AKeyIsStoredOnlyAsAHash(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	_, key, err := merchant.NewDirectory(database.App).Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	secret := strings.Split(key, "_")[2]
	var rows string
	require.NoError(t, database.App.QueryRow(t.Context(), "SELECT string_agg(k::text || encode(hash, 'escape'), '') FROM api_key k").Scan(&rows))
	require.Contains(t, rows, prefixOf(key))
	require.NotContains(t, rows, secret)
}

func TestI13_WhatIsNotALiveKeyIsUnknown(t *testing.T) {
	t.Parallel()
	directory := merchant.NewDirectory(testkit.NewDatabase(t).App)
	_, key, err := directory.Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	_, other, err := directory.Create(t.Context(), "Other shop", "simulated")
	require.NoError(t, err)
	zero := strings.Repeat("0", 64)
	for name, wrong := range map[string]string{
		"empty":                   "",
		"no key at all":           "Bearer",
		"cut":                     key[:len(key)-1],
		"longer":                  key + "0",
		"another secret":          key[:len(key)-64] + zero,
		"another one's secret":    key[:len(key)-64] + other[len(other)-64:],
		"unknown prefix":          "po_aaaaaaaaaaaa_" + zero,
		"upper case":              strings.ToUpper(key),
		"not UTF-8":               key[:len(key)-2] + "\xff\xfe",
		"a NUL where a prefix is": "po_\x00aaaaaaaaaaa_" + zero,
	} {
		_, err := directory.Authenticate(t.Context(), wrong)
		require.ErrorIs(t, err, merchant.ErrUnknownKey, name)
	}
}

func TestI13_ARevokedKeyStopsWorkingAndTheSecondOneDoesNot(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	// Another process would believe the key for CacheAge; one that begins now does not.
	fresh := func() *merchant.Directory { return merchant.NewDirectory(database.App) }
	shop, old, err := fresh().Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)

	replacement, err := rotate(t, database, shop.ID)
	require.NoError(t, err)
	for _, key := range []string{old, replacement} {
		_, err = fresh().Authenticate(t.Context(), key)
		require.NoError(t, err, "both are good while the merchant changes over")
	}
	_, err = rotate(t, database, shop.ID)
	require.ErrorIs(t, err, merchant.ErrTooManyKeys)
	revoked, err := revoke(t, database, prefixOf(old))
	require.NoError(t, err)
	require.Equal(t, merchant.Revoked{Merchant: shop.ID, KeysLeft: 1}, revoked)
	_, err = revoke(t, database, prefixOf(old))
	require.ErrorIs(t, err, merchant.ErrUnknownKey)

	_, err = fresh().Authenticate(t.Context(), old)
	require.ErrorIs(t, err, merchant.ErrUnknownKey)
	found, err := fresh().Authenticate(t.Context(), replacement)
	require.NoError(t, err)
	require.Equal(t, shop, found)
	_, err = rotate(t, database, shop.ID)
	require.NoError(t, err, "the revoked key makes room")
}

func TestRotationsAtOnceLeaveNoMoreThanTwoLiveKeys(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	shop, _, err := merchant.NewDirectory(database.App).Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	results := make(chan error, 8)
	for range cap(results) {
		go func() {
			_, err := rotate(t, database, shop.ID)
			results <- err
		}()
	}
	rotated := 0
	for range cap(results) {
		if err := <-results; err == nil {
			rotated++
		} else {
			require.ErrorIs(t, err, merchant.ErrTooManyKeys)
		}
	}
	require.Equal(t, 1, rotated)
}

func TestWhatCannotBeAMerchantIsRefused(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	directory := merchant.NewDirectory(database.App)
	for _, name := range []string{"", " Shop", "Shop\n", "Sh\x00op", strings.Repeat("ş", merchant.NameCharsMax+1)} {
		_, _, err := directory.Create(t.Context(), name, "simulated")
		require.ErrorContains(t, err, "name", "%q", name)
	}
	for _, account := range []string{"", "Stripe", "-a", "a b", strings.Repeat("a", 64)} {
		_, _, err := directory.Create(t.Context(), "Shop", account)
		require.ErrorContains(t, err, "provider account", "%q", account)
	}
	_, err := rotate(t, database, uuid.New())
	require.ErrorIs(t, err, merchant.ErrUnknownMerchant)
}

func TestI19_AWholeKeyGivenByMistakeIsNotInTheError(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	_, key, err := merchant.NewDirectory(database.App).Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	_, err = revoke(t, database, key)
	require.ErrorIs(t, err, merchant.ErrUnknownKey)
	require.NotContains(t, err.Error(), strings.Split(key, "_")[2])
}
