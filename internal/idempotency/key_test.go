package idempotency_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/idempotency"
)

func TestI6_BothFormsOfAKeyAreTheSameKey(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("k", idempotency.KeyCharsMax)
	for header, key := range map[string]string{
		"8e03978e-40d5-43dd-bc93-6894a57f9324":   "8e03978e-40d5-43dd-bc93-6894a57f9324",
		`"8e03978e-40d5-43dd-bc93-6894a57f9324"`: "8e03978e-40d5-43dd-bc93-6894a57f9324",
		"order/7:retry=1;x":                      "order/7:retry=1;x",
		`"order/7:retry=1;x"`:                    "order/7:retry=1;x",
		`"a\"b\\c"`:                              `a"b\c`,
		`a"b\c`:                                  `a"b\c`,
		" \tpadded\t ":                           "padded",
		` "padded" `:                             "padded",
		`"a,b"`:                                  "a,b",
		longest:                                  longest,
		`"` + longest + `"`:                      longest,
	} {
		parsed, err := idempotency.ParseKey([]string{header})
		require.NoError(t, err, header)
		require.Equal(t, key, parsed, header)
	}
}

func TestI6_EveryBadKeyIsRefusedByName(t *testing.T) {
	t.Parallel()
	tooLong := strings.Repeat("k", idempotency.KeyCharsMax+1)
	for name, c := range map[string]struct {
		lines []string
		want  error
	}{
		"missing":            {nil, idempotency.ErrKeyMissing},
		"two lines":          {[]string{"a", "a"}, idempotency.ErrKeyRepeated},
		"empty":              {[]string{""}, idempotency.ErrKeyEmpty},
		"blank":              {[]string{" \t"}, idempotency.ErrKeyEmpty},
		"empty quoted":       {[]string{`""`}, idempotency.ErrKeyEmpty},
		"too long":           {[]string{tooLong}, idempotency.ErrKeyTooLong},
		"too long quoted":    {[]string{`"` + tooLong + `"`}, idempotency.ErrKeyTooLong},
		"space inside":       {[]string{"a b"}, idempotency.ErrKeyMalformed},
		"space in quotes":    {[]string{`"a b"`}, idempotency.ErrKeyMalformed},
		"two lines joined":   {[]string{"a,b"}, idempotency.ErrKeyMalformed},
		"a list of strings":  {[]string{`"a", "b"`}, idempotency.ErrKeyMalformed},
		"parameters":         {[]string{`"a";v=1`}, idempotency.ErrKeyMalformed},
		"not closed":         {[]string{`"a`}, idempotency.ErrKeyMalformed},
		"only a quote":       {[]string{`"`}, idempotency.ErrKeyMalformed},
		"escape at the end":  {[]string{`"a\`}, idempotency.ErrKeyMalformed},
		"escaped end":        {[]string{`"a\"`}, idempotency.ErrKeyMalformed},
		"unknown escape":     {[]string{`"a\n"`}, idempotency.ErrKeyMalformed},
		"control character":  {[]string{"a\x00b"}, idempotency.ErrKeyMalformed},
		"delete":             {[]string{"a\x7f"}, idempotency.ErrKeyMalformed},
		"beyond ASCII":       {[]string{"ödeme"}, idempotency.ErrKeyMalformed},
		"not UTF-8":          {[]string{"a\xff"}, idempotency.ErrKeyMalformed},
		"no-break space":     {[]string{"\u00a0"}, idempotency.ErrKeyMalformed},
		"a line break in it": {[]string{"a\r\nb"}, idempotency.ErrKeyMalformed},
	} {
		_, err := idempotency.ParseKey(c.lines)
		require.ErrorIs(t, err, c.want, name)
	}
}

// quoted writes a key as RFC 8941, section 4.1.6 does.
func quoted(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{"abc", `"abc"`, `"a\"b"`, `"a\\"`, `"`, "", "a,b", "\xff", `"a" x`, " \tk\t", `"a,b"`, `"";x=1`, strings.Repeat("k", 256)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		key, err := idempotency.ParseKey([]string{header})
		if err != nil {
			return
		}
		require.NoError(t, idempotency.CheckKey(key))
		require.LessOrEqual(t, len(key), idempotency.KeyCharsMax)
		again, err := idempotency.ParseKey([]string{quoted(key)})
		require.NoError(t, err, "a key that was accepted has a quoted form")
		require.Equal(t, key, again)
		if strings.HasPrefix(key, `"`) || strings.Contains(key, ",") {
			return // only the quoted form can say this
		}
		again, err = idempotency.ParseKey([]string{" " + key + "\t"})
		require.NoError(t, err, "and a bare one")
		require.Equal(t, key, again)
	})
}
