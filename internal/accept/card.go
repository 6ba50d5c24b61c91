package accept

import (
	"cmp"
	"slices"
)

// FieldIdempotencyKey is the key, as clients over HTTP know it: the header's name.
const FieldIdempotencyKey = "Idempotency-Key"

// problemCardNumber is what a client is told, which never includes the value.
const problemCardNumber = "looks like a card number; send the provider's token for the card instead"

// cardRange is a range of first digits with the lengths that its numbers have.
type cardRange struct {
	from, to string // as many digits as are compared
	lengths  []int
}

// cardRanges are the issuers' ranges of ISO/IEC 7812, as the schemes publish them and
// as https://github.com/braintree/credit-card-type keeps them, joined where schemes
// share one. Left out are UATP and JCB's old 1800, which begin as times since 1970 do, and
// the lengths that nobody issues any more but others have: 13 digits are a product's
// barcode or a telephone, 15 those of a telephone's serial number.
var cardRanges = []cardRange{
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

// The lengths of card numbers that are looked for.
const (
	cardDigitsMin = 14
	cardDigitsMax = 19
)

// refuseCards looks for card numbers where a merchant has no business to send one.
// Identifiers may be numbers that only look like one, so there it is the merchant's
// choice.
func (e *InvalidError) refuseCards(c Command) {
	e.refuseCard(FieldPaymentType, c.PaymentType)
	e.refuseCard(FieldPaymentMethod, given(c.PaymentMethod))
	e.refuseCard(FieldCustomer, given(c.Customer))
	e.refuseCardIn(c.Metadata)
	if c.ChecksIdentifiers {
		e.refuseCard(FieldInvoiceID, c.InvoiceID)
		e.refuseCard(FieldExternalReference, given(c.ExternalReference))
		e.refuseCard(cmp.Or(c.KeyField, FieldIdempotencyKey), c.IdempotencyKey)
	}
}

func (e *InvalidError) refuseCard(field, text string) {
	if HasCardNumber(text) {
		e.addCard(field)
	}
}

func (e *InvalidError) refuseCardIn(metadata []byte) {
	if metadataHasCard(metadata) {
		e.addCard(FieldMetadata)
	}
}

func (e *InvalidError) addCard(field string) {
	e.CardData = true
	e.add(field, problemCardNumber)
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
