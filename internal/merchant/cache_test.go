package merchant

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/payonce/payonce/internal/testkit"
)

func TestI13_ARevocationElsewhereTakesEffectWithinTheCacheAge(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	now := time.Now()
	here, elsewhere := NewDirectory(database.App), NewDirectory(database.App)
	here.now = func() time.Time { return now }
	_, text, err := elsewhere.Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	_, err = here.Authenticate(t.Context(), text)
	require.NoError(t, err)

	require.NoError(t, pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) error {
		_, err := Revoke(t.Context(), tx, text[len(keyMark):len(keyMark)+prefixChars], Decision{By: "ayse", Reason: "leaked"})
		return err
	}))
	now = now.Add(CacheAge - time.Nanosecond)
	_, err = here.Authenticate(t.Context(), text)
	require.NoError(t, err, "believed for CacheAge, no longer")
	now = now.Add(time.Nanosecond)
	_, err = here.Authenticate(t.Context(), text)
	require.ErrorIs(t, err, ErrUnknownKey)
}

func TestI13_AWrongSecretIsRefusedFromTheCacheToo(t *testing.T) {
	t.Parallel()
	d := NewDirectory(testkit.NewDatabase(t).App)
	_, text, err := d.Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	_, err = d.Authenticate(t.Context(), text)
	require.NoError(t, err)
	wrong := []byte(text)
	wrong[len(wrong)-1] ^= 1
	_, err = d.Authenticate(t.Context(), string(wrong))
	require.ErrorIs(t, err, ErrUnknownKey)
}

func TestI13_GuessesDoNotReachTheDatabaseWithoutBoundAndLockNobodyOut(t *testing.T) {
	t.Parallel()
	d := NewDirectory(testkit.NewDatabase(t).App)
	now := time.Now()
	d.now = func() time.Time { return now }
	d.strangers = rate.NewLimiter(1, 3)
	_, text, err := d.Create(t.Context(), "Shop", "simulated")
	require.NoError(t, err)
	_, err = d.Authenticate(t.Context(), text)
	require.NoError(t, err)
	guess := func(i int) error {
		_, err := d.Authenticate(t.Context(), keyMark+"aaaaaaaaaaa"+string(prefixLetters[i])+"_"+strings.Repeat("0", 2*secretBytes))
		return err
	}
	require.ErrorIs(t, guess(0), ErrUnknownKey)
	for range 10 {
		require.ErrorIs(t, guess(0), ErrUnknownKey, "it is remembered that nobody has it")
	}
	require.ErrorIs(t, guess(1), ErrUnknownKey)
	require.ErrorIs(t, guess(2), ErrTooManyStrangers)

	now = now.Add(CacheAge - time.Millisecond)
	_, err = d.Authenticate(t.Context(), text)
	require.NoError(t, err)
	for i := range 5 {
		_ = guess(3 + i)
	}
	require.ErrorIs(t, guess(9), ErrTooManyStrangers)
	now = now.Add(time.Millisecond)
	_, err = d.Authenticate(t.Context(), text)
	require.NoError(t, err, "a key that was good a moment ago is looked up all the same")
}
