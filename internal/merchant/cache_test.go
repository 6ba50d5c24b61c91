package merchant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

	require.NoError(t, elsewhere.Revoke(t.Context(), text[len(keyMark):len(keyMark)+prefixChars]))
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
