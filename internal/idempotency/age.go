package idempotency

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// The window is how long a key answers at least. Who retries for days retries
// within three, and a window below one would end before a weekend's outage does.
const (
	WindowMin     = 24 * time.Hour
	WindowMax     = 72 * time.Hour
	WindowDefault = WindowMax
	// AnswerMin is how long a key answers at least once its answer is there. The story
	// without: a payment is open for longer than the window, its client repeats the
	// request every hour, and the first repeat after the outcome finds no key.
	AnswerMin = 24 * time.Hour
	// ClockMargin is how far a client's clock may be ahead of the database's. Keys
	// are stored for that much longer than the window. The story without: a clock is
	// half an hour ahead, its key is swept at the window's end, and in the half hour
	// that follows the key's own time is still within the window, so that a late
	// repeat is taken for a new request.
	ClockMargin = time.Hour
)

// firstTimeOrdered is older than every time-ordered key: ULIDs came up in 2016 and
// UUIDs of version 7 later. A key whose time would lie before it is none.
var firstTimeOrdered = time.Date(2016, time.January, 1, 0, 0, 0, 0, time.UTC)

// uuidChars is the length of a UUID as RFC 9562 writes it, with its four dashes.
const uuidChars = 36

// MadeAt returns the time, in milliseconds, that a time-ordered key carries: a
// UUID of version 7, written with its dashes, or a ULID, in upper or lower case. It
// reports false for every other key, and for one that looks like a ULID and would be
// older than they are. Without the dashes nothing sets a UUID apart from a hash: one
// MD5 in 64 has version and variant where version 7 has them.
func MadeAt(key string) (time.Time, bool) {
	var at time.Time
	if id, err := uuid.Parse(key); err == nil && len(key) == uuidChars && id.Version() == 7 && id.Variant() == uuid.RFC4122 {
		at = time.Unix(id.Time().UnixTime())
	} else if unix, ok := ulidTime(key); ok {
		at = time.UnixMilli(unix)
	}
	return at.UTC(), at.After(firstTimeOrdered)
}

// ulidTime reads the ten characters of a ULID that hold its time, after looking at
// all 26. Source: github.com/ulid/spec, which uses Crockford's base 32.
func ulidTime(key string) (unix int64, ok bool) {
	const alphabet, chars, timeChars = "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26, 10
	if len(key) != chars || key[0] > '7' { // 26 characters are 130 bits, a ULID has 128
		return 0, false
	}
	for i, r := range strings.ToUpper(key) {
		digit := strings.IndexRune(alphabet, r)
		if digit < 0 {
			return 0, false
		}
		if i < timeChars {
			unix = unix<<5 | int64(digit)
		}
	}
	return unix, true
}

// Expired reports whether a key that nothing is stored under may have stood for a
// request: it is time-ordered and was made more than window before now, so that it
// may have been swept. Of other keys nobody can know. Neither of a key that was
// made more than ClockMargin in the future: it is used as an ordinary one.
func Expired(key string, now time.Time, window time.Duration) bool {
	at, ok := MadeAt(key)
	return ok && now.Sub(at) > window
}
