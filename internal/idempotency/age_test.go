package idempotency_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/idempotency"
)

func TestI12_TheTimeOfATimeOrderedKeyIsRead(t *testing.T) {
	t.Parallel()
	// The examples of RFC 9562, appendix A.6, and of the ULID specification.
	const v7, ulid = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	for key, want := range map[string]string{
		v7:                                     "2022-02-22T19:22:22.000Z",
		strings.ToLower(v7):                    "2022-02-22T19:22:22.000Z",
		ulid:                                   "2016-07-30T23:54:10.259Z",
		strings.ToLower(ulid):                  "2016-07-30T23:54:10.259Z",
		"7ZZZZZZZZZZZZZZZZZZZZZZZZZ":           "10889-08-02T05:31:50.655Z",
		"FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF": "10889-08-02T05:31:50.655Z",
	} {
		at, ok := idempotency.MadeAt(key)
		require.True(t, ok, key)
		require.Equal(t, want, at.Format("2006-01-02T15:04:05.000Z07:00"), key)
	}
}

func TestI12_OtherKeysHaveNoTime(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"empty":                              "",
		"an invoice":                         "INV-2026-0001",
		"a random UUID":                      "7c4e5f2a-3e0b-4d5c-9a53-4b6d1c2e8f70",
		"a UUID of version 1":                "C232AB00-9414-11EC-B3C8-9F6BDECED846",
		"a UUID of version 6":                "1EC9414C-232A-6B00-B3C8-9F6BDECED846",
		"version 7 of another variant":       "017F22E2-79B0-7CC3-18C4-DC0C0C07398F",
		"version 7 before there were any":    "00000000-0001-7CC3-98C4-DC0C0C07398F",
		"26 characters, one not of the code": "01ARZ3NDEKTSV4RRFFQ69G5FAU",
		"a ULID beyond 128 bits":             "81ARZ3NDEKTSV4RRFFQ69G5FAV",
		"a ULID before there were any":       "00000000AKTSV4RRFFQ69G5FAV",
		"a ULID and one character more":      "01ARZ3NDEKTSV4RRFFQ69G5FAVX",
		"a prefix before a ULID":             "pay_01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"32 digits of a hash":                "017F22E279B07CC398C4DC0C0C07398F",
		"a UUID in braces":                   "{017F22E2-79B0-7CC3-98C4-DC0C0C07398F}",
		"a UUID as a URN":                    "urn:uuid:017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
	} {
		_, ok := idempotency.MadeAt(key)
		require.False(t, ok, name)
	}
}

func TestI12_AHashIsNeverTakenForAnOldKey(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for order := range 100_000 {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(order)))
		key := hex.EncodeToString(sum[:16])
		require.False(t, idempotency.Expired(key, now, idempotency.WindowDefault), key)
	}
}

func TestI12_T10_AKeyIsExpiredAfterItsWindowAndNotAtItsEnd(t *testing.T) {
	t.Parallel()
	key := uuid.Must(uuid.NewV7()).String()
	made, ok := idempotency.MadeAt(key)
	require.True(t, ok)
	require.WithinDuration(t, time.Now(), made, time.Minute)
	for age, expired := range map[time.Duration]bool{
		-1000 * time.Hour:               false, // a clock that is ahead: used as any other key
		-time.Hour:                      false,
		0:                               false,
		72*time.Hour - time.Millisecond: false,
		72 * time.Hour:                  false,
		72*time.Hour + time.Millisecond: true,
		10 * 365 * 24 * time.Hour:       true,
	} {
		require.Equal(t, expired, idempotency.Expired(key, made.Add(age), 72*time.Hour), age)
		require.False(t, idempotency.Expired("INV-1", made.Add(age), 72*time.Hour))
	}
}
