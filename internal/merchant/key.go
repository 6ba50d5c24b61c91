package merchant

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// A key reads po_PREFIX_SECRET. The prefix names the row and may be shown and
// logged; the secret may not. Both use letters that a double click selects whole.
const (
	keyMark     = "po_"
	prefixChars = 12 // 60 random bits
	secretBytes = 32
	keyChars    = len(keyMark) + prefixChars + len("_") + 2*secretBytes
)

// prefixLetters leaves out l, o, 0 and 1, which people mistake for each other.
const prefixLetters = "abcdefghijkmnpqrstuvwxyz23456789"

var prefixEncoding = base32.NewEncoding(prefixLetters).WithPadding(base32.NoPadding)

// apiKey is a key as the client sends it, taken apart.
type apiKey struct {
	prefix string
	hash   [sha256.Size]byte // of the secret
}

// newKey makes a key and the text that its merchant is given, once.
func newKey() (apiKey, string) {
	random := make([]byte, 8+secretBytes)
	_, _ = rand.Read(random) // never fails: crypto/rand ends the process instead
	prefix := prefixEncoding.EncodeToString(random[:8])[:prefixChars]
	secret := hex.EncodeToString(random[8:])
	return apiKey{prefix, sha256.Sum256([]byte(secret))}, keyMark + prefix + "_" + secret
}

// parseKey takes a key apart. It does not judge the secret's characters: a wrong
// one has another hash.
func parseKey(text string) (apiKey, bool) {
	rest, marked := strings.CutPrefix(text, keyMark)
	if !marked || len(text) != keyChars || rest[prefixChars] != '_' {
		return apiKey{}, false
	}
	prefix, secret := rest[:prefixChars], rest[prefixChars+1:]
	if strings.Trim(prefix, prefixLetters) != "" {
		return apiKey{}, false
	}
	return apiKey{prefix, sha256.Sum256([]byte(secret))}, true
}
