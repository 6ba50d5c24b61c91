package idempotency

import "strings"

// ParseKey reads the key from the lines of an Idempotency-Key header. The bare
// form and the quoted form are the same key: abc and "abc".
//
// Source: draft-ietf-httpapi-idempotency-key-header, whose value is a String of
// RFC 8941, section 3.3.3. Parameters are refused, and so are spaces inside the
// quotes, because the bare form could not say them. A comma in the bare form is
// refused because that is how a proxy joins two header lines.
//
// Errors: ErrKeyMissing, ErrKeyRepeated, ErrKeyEmpty, ErrKeyTooLong, ErrKeyMalformed.
func ParseKey(lines []string) (string, error) {
	switch len(lines) {
	case 0:
		return "", ErrKeyMissing
	case 1:
	default:
		return "", ErrKeyRepeated
	}
	key := strings.Trim(lines[0], " \t")
	if quoted, ok := strings.CutPrefix(key, `"`); ok {
		if key, ok = unquote(quoted); !ok {
			return "", ErrKeyMalformed
		}
	} else if strings.Contains(key, ",") {
		return "", ErrKeyMalformed
	}
	return key, CheckKey(key)
}

// CheckPlainKey judges a key that came as it is. In a header, one that begins with a
// quote is the quoted form of another key, and one key is one key at all doors.
//
// Errors: ErrKeyQuoted, and those of CheckKey.
func CheckPlainKey(key string) error {
	if strings.HasPrefix(key, `"`) {
		return ErrKeyQuoted
	}
	return CheckKey(key)
}

// CheckKey judges a key by what holds for all.
//
// Errors: ErrKeyEmpty, ErrKeyTooLong, ErrKeyMalformed.
func CheckKey(key string) error {
	switch {
	case key == "":
		return ErrKeyEmpty
	case strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }):
		return ErrKeyMalformed
	case len(key) > KeyCharsMax: // ASCII, so bytes are characters
		return ErrKeyTooLong
	}
	return nil
}

// unquote reads a string up to its closing quote, which must be the end.
func unquote(text string) (string, bool) {
	var key strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return key.String(), i == len(text)-1
		case '\\':
			i++
			if i == len(text) || (text[i] != '"' && text[i] != '\\') {
				return "", false
			}
			key.WriteByte(text[i])
		default:
			key.WriteByte(c)
		}
	}
	return "", false
}
