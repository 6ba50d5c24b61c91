package accept

import (
	"regexp"
	"strings"
	"unicode"
)

// How people write card numbers: in one block, or in groups of four and more, of which
// the last one may be shorter, or in small groups of one size. Other mixtures are dates,
// telephone numbers and amounts.
const (
	cardGroupMax   = 8 // digits; longer groups are those of account numbers
	cardGroupLarge = 4
)

var (
	// digitRun is digits with up to eight separators between two groups.
	digitRun = regexp.MustCompile(`[0-9]+(?: {1,8}[0-9]+)*`)
	// word is a UUID, or letters and digits with nothing between them.
	word = regexp.MustCompile(`(?i)` + uuidForm + `|[0-9a-z]+`)
	// otherName is what holds digits of its own right: UUIDs, and hashes, which are
	// long and nothing but hexadecimal digits.
	otherName = regexp.MustCompile(`(?i)^(?:` + uuidForm + `|[0-9a-f]{24,})$`)
	ibanForm  = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}$`)
)

const uuidForm = `[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`

// HasCardNumber reports whether a text holds a card number: first digits and length of
// an issuer, and a right check digit, in one block or in groups. Letters next to it
// excuse it only as part of a UUID, a hash or an IBAN.
func HasCardNumber(text string) bool {
	if countDigits(text) < cardDigitsMin {
		return false
	}
	text = strings.Map(withoutInvisible, text)
	text = word.ReplaceAllStringFunc(text, withoutOtherNames)
	text = strings.Map(withoutSeparators, text)
	for _, run := range digitRun.FindAllString(text, -1) {
		groups := strings.Fields(run)
		for i := range groups {
			if isCardNumber(groups[i]) || groupsMakeCard(groups[i:]) {
				return true
			}
		}
	}
	return false
}

// groupsMakeCard joins groups from the first one on.
func groupsMakeCard(groups []string) bool {
	size, joined := len(groups[0]), groups[0]
	for _, group := range groups[1:] {
		if size > cardGroupMax || len(group) > cardGroupMax || (size < cardGroupLarge && len(group) > size) {
			return false
		}
		if joined += group; len(joined) > cardDigitsMax {
			return false
		}
		if isCardNumber(joined) {
			return true
		}
		if len(group) < min(size, cardGroupLarge) { // only the last one may be
			return false
		}
	}
	return false
}

func countDigits(text string) (digits int) {
	for _, r := range text {
		if _, is := digitOf(r); is {
			digits++
		}
	}
	return digits
}

// withoutInvisible drops what nobody sees between two digits, such as a zero-width
// space, and makes all digits ASCII.
func withoutInvisible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.M) {
		return -1
	}
	if digit, is := digitOf(r); is {
		return rune(digit)
	}
	return r
}

func withoutOtherNames(word string) string {
	if otherName.MatchString(word) || isIBAN(word) {
		return "x"
	}
	return word
}

// withoutSeparators makes a space of everything that people write between the groups
// of a number. Colons are left out, which are a time's, and commas, which are a list's.
func withoutSeparators(r rune) rune {
	if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Pd, r) || strings.ContainsRune(`./_\|·•*`, r) {
		return ' '
	}
	return r
}

// isIBAN looks at form and check digits (ISO 13616): the first four characters go to
// the end, A is 10 and Z is 35, and 97 leaves 1. Danish, Finnish and Austrian ones have
// as many digits as a card.
func isIBAN(word string) bool {
	if !ibanForm.MatchString(word) {
		return false
	}
	rest := 0
	for _, r := range word[4:] + word[:4] {
		if r <= '9' {
			rest = (rest*10 + int(r-'0')) % 97
		} else {
			rest = (rest*100 + int(r-'A') + 10) % 97
		}
	}
	return rest == 1
}

// digitOf reads the digits that people type: ASCII, full-width, Arabic and Persian.
func digitOf(r rune) (byte, bool) {
	for _, zero := range []rune{'0', '０', '٠', '۰'} {
		if r >= zero && r <= zero+9 {
			return byte('0' + r - zero), true //nolint:gosec // '0' to '9'
		}
	}
	return 0, false
}
