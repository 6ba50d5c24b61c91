package idempotency_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/idempotency"
)

func request(fields idempotency.Fields) idempotency.Canonical {
	return idempotency.Canonical{Method: "POST", Fields: fields}
}

func TestI8_AFingerprintCanBeRecomputedFromItsDescription(t *testing.T) {
	t.Parallel()
	got, err := idempotency.Canonical{
		Method: "POST",
		Path:   map[string]string{"id": "7"},
		Fields: idempotency.Fields{"currency": new("TRY"), "amount": new("1000"), "customer": nil, "note": new("ş\"<")},
	}.Fingerprint()
	require.NoError(t, err)
	want := `{"fields":{"amount":"1000","currency":"TRY","customer":null,"note":"ş\"<"},"method":"POST","path":{"id":"7"},"version":1}`
	require.Equal(t, idempotency.Fingerprint(sha256.Sum256([]byte(want))), got)
}

func TestI8_MethodPathAndEachFieldAreInTheFingerprint(t *testing.T) {
	t.Parallel()
	seen := map[idempotency.Fingerprint]string{}
	for name, c := range map[string]idempotency.Canonical{
		"plain":          request(idempotency.Fields{"a": new("1"), "b": nil}),
		"other value":    request(idempotency.Fields{"a": new("2"), "b": nil}),
		"not null":       request(idempotency.Fields{"a": new("1"), "b": new("")}),
		"the text null":  request(idempotency.Fields{"a": new("1"), "b": new("null")}),
		"swapped":        request(idempotency.Fields{"b": new("1"), "a": nil}),
		"another method": {Method: "PUT", Fields: idempotency.Fields{"a": new("1"), "b": nil}},
		"a path":         {Method: "POST", Path: map[string]string{"id": "1"}, Fields: idempotency.Fields{"a": new("1"), "b": nil}},
	} {
		fingerprint, err := c.Fingerprint()
		require.NoError(t, err)
		require.NotContains(t, seen, fingerprint, "%s and %s", name, seen[fingerprint])
		seen[fingerprint] = name
	}
}

func TestI5_DifferencesAreTheNamesOfFields(t *testing.T) {
	t.Parallel()
	stored := idempotency.Fields{"amount": new("1000"), "currency": new("TRY"), "customer": nil, "old": new("x")}
	require.Empty(t, idempotency.Differences(stored, stored))
	require.Equal(t, []string{"amount", "customer", "old"},
		idempotency.Differences(stored, idempotency.Fields{"amount": new("1001"), "currency": new("TRY"), "customer": new("c")}))
	require.Empty(t, idempotency.Differences(idempotency.Fields{}, idempotency.Fields{"new": nil}),
		"a field that an older version did not know is absent, as null is")
	require.Equal(t, []string{"new"}, idempotency.Differences(idempotency.Fields{}, idempotency.Fields{"new": new("")}))
}

func TestI8_EqualFieldsAreTheSameRequestAndOnlyThey(t *testing.T) {
	t.Parallel()
	field := rapid.Ptr(rapid.StringMatching(`[a-z"\\é]{0,3}`), true)
	fields := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), field)
	rapid.Check(t, func(t *rapid.T) {
		one, other := idempotency.Fields(fields.Draw(t, "one")), idempotency.Fields(fields.Draw(t, "other"))
		for _, name := range []string{"a", "b", "c"} { // absent = null
			if _, ok := one[name]; !ok {
				one[name] = nil
			}
			if _, ok := other[name]; !ok {
				other[name] = nil
			}
		}
		first, err := request(one).Fingerprint()
		require.NoError(t, err)
		second, err := request(other).Fingerprint()
		require.NoError(t, err)
		require.Equal(t, first == second, len(idempotency.Differences(one, other)) == 0)
	})
}
