package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/merchant"
)

// json runs a command that succeeds and reads what it told.
func (d desk) json(told any, arguments ...string) {
	d.t.Helper()
	code, out, errOut := payctl(d.t, d.environ, append(arguments, "--output", "json")...)
	require.Equal(d.t, app.ExitOK, code, errOut)
	require.NoError(d.t, json.Unmarshal([]byte(out), told), out)
}

func TestI13_AKeyIsRotatedAndTheOldOneRevoked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var created, rotated app.Merchant
	d.json(&created, "merchant", "create", "Shop", "--provider", "card")
	works := func(key string) error {
		_, err := merchant.NewDirectory(d.App).Authenticate(t.Context(), key)
		return err
	}

	d.json(&rotated, "merchant", "rotate", created.ID, "--reason", "yearly")
	require.Empty(t, rotated.APIKey, "a dry run's key is never stored, so it is not shown")
	var details app.MerchantDetails
	d.json(&details, "merchant", "show", created.ID)
	require.Len(t, details.Keys, 1)
	require.Empty(t, details.Changes)

	d.json(&rotated, "merchant", "rotate", created.ID, "--reason", "yearly", "--by", "ayse", "--execute")
	require.NoError(t, works(created.APIKey))
	require.NoError(t, works(rotated.APIKey))

	prefix := strings.Split(created.APIKey, "_")[1]
	code, out, errOut := payctl(t, d.environ, "merchant", "revoke", prefix, "--reason", "changed over")
	require.Equal(t, app.ExitOK, code, errOut)
	require.Contains(t, out, "would end API key "+prefix)
	require.Contains(t, out, "1 live keys are left")
	require.NoError(t, works(created.APIKey))
	var revoked app.RevokedKey
	d.json(&revoked, "merchant", "revoke", prefix, "--reason", "changed over", "--execute")
	require.Equal(t, app.RevokedKey{Prefix: prefix, Merchant: uuid.MustParse(created.ID), KeysLeft: 1}, revoked)
	require.ErrorIs(t, works(created.APIKey), merchant.ErrUnknownKey)
	require.NoError(t, works(rotated.APIKey))

	code, out, errOut = payctl(t, d.environ, "merchant", "show", created.ID)
	require.Equal(t, app.ExitOK, code, errOut)
	require.Contains(t, out, "ayse: added API key")
	require.Contains(t, out, "revoked API key "+prefix)
	require.NotContains(t, out, strings.Split(rotated.APIKey, "_")[2])
}

func TestI19_AWholeKeyIsNotRepeatedInAnError(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var created app.Merchant
	d.json(&created, "merchant", "create", "Shop", "--provider", "card")
	code, out, errOut := payctl(t, d.environ, "merchant", "revoke", created.APIKey, "--reason", "leaked", "--execute")
	require.Equal(t, app.ExitFailed, code)
	require.NotContains(t, out+errOut, created.APIKey)
}

func TestAMerchantsSettingsAreChangedOneByOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var created app.Merchant
	d.json(&created, "merchant", "create", "Shop", "--provider", "card")
	change := func(arguments ...string) (s app.MerchantSettings) {
		d.json(&s, append([]string{"merchant", arguments[0], created.ID, "--reason", "asked for", "--execute"}, arguments[1:]...)...)
		return s
	}
	require.Equal(t, app.MerchantSettings{RatePerSecond: 5, RateBurst: 10}, change("limit", "--rate", "5"))
	require.Equal(t, app.MerchantSettings{RatePerSecond: 5, RateBurst: 10, ChecksIdentifiers: true}, change("identifiers", "on"))
	require.Equal(t, app.MerchantSettings{ChecksIdentifiers: true}, change("limit", "--default"))
	require.Equal(t, app.MerchantSettings{ChecksIdentifiers: true, DerivesKeys: true}, change("legacy", "on"))
	require.Equal(t, app.MerchantSettings{DerivesKeys: true}, change("identifiers", "off"))

	var page app.MerchantPage
	d.json(&page, "merchant", "list")
	require.Len(t, page.Merchants, 1)
	require.Equal(t, app.MerchantSettings{DerivesKeys: true}, page.Merchants[0].MerchantSettings)
	require.Empty(t, page.Next)

	for _, wrong := range [][]string{
		{"merchant", "limit", created.ID, "--reason", "x"},
		{"merchant", "limit", created.ID, "--reason", "x", "--rate", "1", "--default"},
		{"merchant", "legacy", created.ID, "maybe", "--reason", "x"},
		{"merchant", "rotate", created.ID},
	} {
		code, _, _ := payctl(t, d.environ, wrong...)
		require.Equal(t, app.ExitUsage, code, "%v", wrong)
	}
	code, _, errOut := payctl(t, d.environ, "merchant", "limit", created.ID, "--rate=-1", "--reason", "x")
	require.Equal(t, app.ExitFailed, code)
	require.Contains(t, errOut, "a limit is 1 to")
	code, _, errOut = payctl(t, d.environ, "merchant", "show", uuid.NewString())
	require.Equal(t, app.ExitFailed, code)
	require.Contains(t, errOut, "there is no such merchant")
}
