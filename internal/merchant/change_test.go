package merchant_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/testkit"
)

func TestI13_SettingsAreChangedTogetherWithWhoDidItAndWhy(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	directory := merchant.NewDirectory(database.App)
	shop, key, err := directory.Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	limit := merchant.Limit{PerSecond: 5, Burst: 10}
	configure := func(change func(*merchant.Settings)) error {
		return within(t, database, func(tx pgx.Tx) error {
			_, err := merchant.Configure(t.Context(), tx, shop.ID, because, change)
			return err
		})
	}
	require.NoError(t, configure(func(s *merchant.Settings) { s.Limit = limit }))
	require.NoError(t, configure(func(s *merchant.Settings) { s.ChecksIdentifiers, s.DerivesKeys = true, true }))
	for _, wrong := range []merchant.Limit{{PerSecond: 1}, {Burst: 1}, {PerSecond: -1, Burst: 1}, {PerSecond: 1, Burst: merchant.LimitBurstMax + 1}} {
		require.ErrorIs(t, configure(func(s *merchant.Settings) { s.Limit = wrong }), merchant.ErrInvalidLimit)
	}

	want := merchant.Settings{Limit: limit, ChecksIdentifiers: true, DerivesKeys: true}
	found, err := directory.Authenticate(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, want, found.Settings)
	shown, err := merchant.Show(t.Context(), database.App, shop.ID)
	require.NoError(t, err)
	require.Equal(t, want, shown.Settings)
	require.Equal(t, 1, shown.LiveKeys)
	require.Equal(t, prefixOf(key), shown.Keys[0].Prefix)
	require.Nil(t, shown.Keys[0].RevokedAt)
	require.Len(t, shown.Changes, 2)
	require.Equal(t, "set limit 5/s, burst 10; identifier check on; derived keys on", shown.Changes[0].Change)
	require.Equal(t, because, shown.Changes[0].Decision)

	require.NoError(t, configure(func(s *merchant.Settings) { s.Limit = merchant.Limit{} }))
	shown, err = merchant.Show(t.Context(), database.App, shop.ID)
	require.NoError(t, err)
	require.True(t, shown.Limit.IsZero())
	_, err = database.App.Exec(t.Context(), "DELETE FROM merchant_change")
	require.Error(t, err, "what was decided stays on record")
}

func TestMerchantsAreListedInPages(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	directory := merchant.NewDirectory(database.App)
	first, _, err := directory.Create(t.Context(), "First", "simulated")
	require.NoError(t, err)
	second, _, err := directory.Create(t.Context(), "Second", "card")
	require.NoError(t, err)
	page, err := merchant.List(t.Context(), database.App, uuid.Nil)
	require.NoError(t, err)
	require.Len(t, page, 2)
	require.Equal(t, first, page[0].Merchant)
	page, err = merchant.List(t.Context(), database.App, first.ID)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, second, page[0].Merchant)

	_, err = merchant.Show(t.Context(), database.App, uuid.New())
	require.ErrorIs(t, err, merchant.ErrUnknownMerchant)
	require.ErrorIs(t, within(t, database, func(tx pgx.Tx) error {
		_, err := merchant.Configure(t.Context(), tx, uuid.New(), because, func(*merchant.Settings) {})
		return err
	}), merchant.ErrUnknownMerchant)
}

func TestI13_TheDatabaseRefusesHalfALimitAndWhatNobodyMayChange(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	shop, _, err := merchant.NewDirectory(database.App).Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	for why, sql := range map[string]string{
		"a_rate_limit_has_a_burst": "UPDATE merchant SET rate_limit = 5 WHERE id = $1",
		"rate_limit_check":         "UPDATE merchant SET rate_limit = 0, rate_burst = 1 WHERE id = $1",
		"permission denied":        "UPDATE merchant SET provider_account = 'other' WHERE id = $1",
	} {
		_, err := database.App.Exec(t.Context(), sql, shop.ID)
		require.ErrorContains(t, err, why)
	}
}
