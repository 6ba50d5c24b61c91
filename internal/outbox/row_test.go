package outbox

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/pkg/event"
)

// asPostgresPrints renders headers as PostgreSQL prints the jsonb that was stored.
func asPostgresPrints(t rapid.TB, headers []event.Header) []byte {
	parts := make([]string, len(headers))
	for i, h := range headers {
		name, err := json.Marshal(h.Name)
		require.NoError(t, err)
		value, err := json.Marshal(h.Value)
		require.NoError(t, err)
		parts[i] = `{"n": ` + string(name) + `, "v": ` + string(value) + `}`
	}
	return []byte("[" + strings.Join(parts, ", ") + "]")
}

func TestHeadersAreReadWhateverIsInThem(t *testing.T) {
	t.Parallel()
	var memory arena
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"`, `", "v": "`, `"}, {"n": "`, `}]`, `\`, "ce_id"}))
		headers := rapid.SliceOf(rapid.Custom(func(t *rapid.T) event.Header {
			return event.Header{Name: text.Draw(t, "name"), Value: text.Draw(t, "value")}
		})).Draw(t, "headers")
		got, err := decodeHeaders(asPostgresPrints(t, headers), &memory)
		require.NoError(t, err)
		require.Len(t, got, len(headers))
		for i, h := range headers {
			read := event.Header{Name: got[i].Name, Value: string(got[i].Value)}
			require.Equal(t, h, read)
		}
	})
}

func TestHeadersOfOneRowAreNotThoseOfAnother(t *testing.T) {
	t.Parallel()
	var memory arena
	var rows [][]Header
	for n := range 2 * arenaHeaders / 3 {
		headers, err := decodeHeaders(fmt.Appendf(nil, `[{"n": "a", "v": "%d"}, {"n": "b", "v": "%d"}, {"n": "c", "v": "x"}]`, n, n+1), &memory)
		require.NoError(t, err)
		rows = append(rows, headers)
	}
	for n, headers := range rows {
		require.Equal(t, strconv.Itoa(n), string(headers[0].Value))
		require.Equal(t, strconv.Itoa(n+1), string(headers[1].Value))
		require.Equal(t, 3, cap(headers), "appending to one row's headers leaves the next row's alone")
	}
}

func TestHeadersThatAreNoneAreAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `[`, `{}`, `[{"n": "a"`, `[{"n": "a", "v": "b"}`, `[{"n": "a", "v": "b"}, ]`} {
		_, err := decodeHeaders([]byte(text), &arena{})
		require.Error(t, err, text)
	}
}
