package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
)

// cursorVersion is the first byte of every cursor. One of another version is refused.
const cursorVersion = 1

// cursorSumBytes of a SHA-256 tie a cursor to its list. It is no secret and guards
// none: whose payments are read follows from the API key alone, and a cursor that
// somebody made up leads to a place in that merchant's own list. It is there so that a
// cursor under other filters, or half of one, is refused instead of skipping payments.
const cursorSumBytes = 8

// sealCursor makes a cursor of a place in a list.
func sealCursor(list string, place []byte) string {
	sealed := append([]byte{cursorVersion}, cursorSum(list, place)...)
	return base64.RawURLEncoding.EncodeToString(append(sealed, place...))
}

// openCursor returns the place that sealCursor was given for the same list, and
// whether there is one.
func openCursor(list, cursor string) (place []byte, ok bool) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(sealed) < 1+cursorSumBytes || sealed[0] != cursorVersion {
		return nil, false
	}
	sum, place := sealed[1:1+cursorSumBytes], sealed[1+cursorSumBytes:]
	return place, bytes.Equal(sum, cursorSum(list, place))
}

func cursorSum(list string, place []byte) []byte {
	sum := sha256.New()
	sum.Write([]byte(list + "\x00"))
	sum.Write(place)
	return sum.Sum(nil)[:cursorSumBytes]
}
