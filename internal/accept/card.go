package accept

import (
	"errors"
	"slices"
	"strings"
	"unicode"
)

// FieldIdempotencyKey is the header, where a rule is about its value.
const FieldIdempotencyKey = "Idempotency-Key"

// errCardNumber is what a client is told, which never includes the value.
var errCardNumber = errors.New("looks like a card number; send the provider's token for the card instead")

// cardRange is a range of first digits with the lengths that its numbers have.
type cardRange struct {
	from, to string // as many digits as are compared
	lengths  []int
}

// cardRanges are the issuers' ranges of ISO/IEC 7812, as the schemes publish them and
// as https://github.com/braintree/credit-card-type keeps them, joined where schemes
// share one. Left out are UATP, which begins with 1, as times in milliseconds do, and
// the lengths that nobody issues any more but others have: 13 digits are a product's
// barcode or a telephone, 15 those of a telephone's serial number.
var cardRanges = []cardRange{
	{"1800", "1800", []int{16, 17, 18, 19}}, // JCB
	{"2131", "2131", []int{16, 17, 18, 19}}, // JCB
	{"2200", "2204", []int{16, 17, 18, 19}}, // Mir
	{"2221", "2720", []int{16}},             // Mastercard
	{"300", "305", []int{14, 16, 19}},       // Diners Club
	{"309", "309", []int{14, 16, 19}},       // Diners Club
	{"34", "34", []int{15}},                 // American Express
	{"3528", "3589", []int{16, 17, 18, 19}}, // JCB
	{"36", "36", []int{14, 16, 19}},         // Diners Club
	{"37", "37", []int{15}},                 // American Express
	{"38", "39", []int{14, 16, 19}},         // Diners Club
	{"4", "4", []int{16, 18, 19}},           // Visa
	{"50", "50", []int{16, 17, 18, 19}},     // Maestro, Elo, Verve
	{"51", "55", []int{16}},                 // Mastercard
	{"56", "58", []int{16, 17, 18, 19}},     // Maestro
	{"60", "60", []int{16, 19}},             // Discover, RuPay, Hipercard
	{"62", "62", []int{16, 17, 18, 19}},     // UnionPay
	{"63", "63", []int{16, 17, 18, 19}},     // Maestro, Elo, Hiper
	{"644", "659", []int{16, 18, 19}},       // Discover, RuPay, Elo, Verve
	{"67", "67", []int{16, 17, 18, 19}},     // Maestro
	{"81", "82", []int{16, 17, 18, 19}},     // UnionPay, RuPay
	{"9792", "9792", []int{16}},             // Troy
}

// The bounds of what is looked at. The shortest card number has 14 digits, the longest
// 19; people write them in groups of up to six.
const (
	cardDigitsMin  = 14
	cardDigitsMax  = 19
	cardGroupMax   = 6
	cardSpacingMax = 3 // characters between two groups
)

// refuseCards looks for card numbers where a merchant has no business to send one.
// Identifiers may be numbers that only look like one, so there it is the merchant's
// choice. Metadata is looked at where it is read.
func (e *InvalidError) refuseCards(c Command) {
	e.refuseCard(FieldPaymentType, c.PaymentType)
	e.refuseCard(FieldPaymentMethod, given(c.PaymentMethod))
	e.refuseCard(FieldCustomer, given(c.Customer))
	if c.ChecksIdentifiers {
		e.refuseCard(FieldInvoiceID, c.InvoiceID)
		e.refuseCard(FieldExternalReference, given(c.ExternalReference))
		e.refuseCard(FieldIdempotencyKey, c.IdempotencyKey)
	}
}

func (e *InvalidError) refuseCard(field, text string) {
	if hasCardNumber(text) {
		e.CardData = true
		e.add(field, errCardNumber.Error())
	}
}

// hasCardNumber reports whether a text holds a card number: first digits and length of
// an issuer, and a right check digit, in one block or in groups with spaces or dashes
// between them. Digits next to a letter are part of another name, such as a hash.
func hasCardNumber(text string) bool {
	for _, run := range digitRuns(text) {
		for i := range run {
			if isCardNumber(run[i]) || groupsMakeCard(run[i:]) {
				return true
			}
		}
	}
	return false
}

// groupsMakeCard joins groups from the first one on. Groups longer than people write
// them are those of UUIDs and of account numbers.
func groupsMakeCard(groups []string) bool {
	for i, group := range groups {
		joined := strings.Join(groups[:i+1], "")
		if len(group) > cardGroupMax || len(joined) > cardDigitsMax {
			return false
		}
		if isCardNumber(joined) {
			return true
		}
	}
	return false
}

// digitRuns returns the groups of digits in a text, those together that only spaces or
// dashes separate.
func digitRuns(text string) [][]string {
	var runs [][]string
	var run []string
	var group strings.Builder
	spacing, glued := 0, false // characters since the last group; the group touches a letter
	endGroup := func() {
		if group.Len() > 0 && !glued {
			run = append(run, group.String())
		}
		group.Reset()
	}
	endRun := func() {
		if endGroup(); len(run) > 0 {
			runs = append(runs, run)
		}
		run, spacing = nil, 0
	}
	for _, r := range text {
		digit, isDigit := digitOf(r)
		switch {
		case isDigit:
			group.WriteByte(digit)
			spacing = 0
		case unicode.IsSpace(r) || unicode.Is(unicode.Pd, r):
			endGroup()
			if spacing++; spacing > cardSpacingMax || glued {
				endRun()
			}
			glued = false
		default:
			glued = unicode.IsLetter(r)
			endRun()
		}
	}
	endRun()
	return runs
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

func isCardNumber(digits string) bool {
	if len(digits) < cardDigitsMin || len(digits) > cardDigitsMax {
		return false
	}
	inRange := slices.ContainsFunc(cardRanges, func(r cardRange) bool {
		first := digits[:len(r.from)]
		return r.from <= first && first <= r.to && slices.Contains(r.lengths, len(digits))
	})
	return inRange && luhn(digits)
}

// luhn checks the last digit (ISO/IEC 7812-1, annex B).
func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		n := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}
