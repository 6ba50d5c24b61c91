package accept

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
)

// The limits of a request's texts, in characters. They fit what providers and
// accounting systems take, and keep an index entry far below PostgreSQL's limit.
const (
	InvoiceIDCharsMax         = 128
	PaymentTypeCharsMax       = 64
	ExternalReferenceCharsMax = 128
	PaymentMethodCharsMax     = 255 // the provider's token
	CustomerCharsMax          = 255 // the provider's name for the customer
	CorrelationIDCharsMax     = 128
	amountCharsMax            = 32 // longer than any amount that is in bounds
)

// Names of the fields, as clients know them.
const (
	FieldInvoiceID         = "invoiceId"
	FieldPaymentType       = "paymentType"
	FieldAmount            = "amount"
	FieldCurrency          = "currency"
	FieldPaymentMethod     = "paymentMethod"
	FieldCustomer          = "customer"
	FieldExternalReference = "externalReference"
	FieldMetadata          = "metadata"
	FieldChargeBefore      = "chargeBefore"
)

// Command asks for a payment, in the words of the client. What is nil is absent.
type Command struct {
	MerchantID      uuid.UUID // from the credential
	ProviderAccount string    // the merchant's
	IdempotencyKey  string
	KeyField        string // what the door's clients call the key; empty: FieldIdempotencyKey

	// ChecksIdentifiers and DerivesKey are the merchant's settings, see merchant.Settings.
	// With DerivesKey a command without IdempotencyKey gets one from its invoice.
	ChecksIdentifiers, DerivesKey bool

	InvoiceID         string
	PaymentType       string
	Amount            string // a plain decimal, "10.00"
	Currency          string // ISO 4217
	PaymentMethod     *string
	Customer          *string
	ExternalReference *string
	Metadata          []byte  // a JSON object
	ChargeBefore      *string // RFC 3339

	// SentAt is when the command was sent, where the door knows it without asking the
	// client: one that waited in a topic for longer than keys are stored may be a
	// repeat that nobody remembers. Zero: it was sent just now.
	SentAt time.Time

	// TraceParent, CorrelationID and CausationID are carried on when they are
	// sane and replaced when they are not: no payment is refused over them.
	TraceParent, CorrelationID, CausationID string
}

// From takes over what the credential says about the merchant.
func (c *Command) From(m merchant.Merchant) {
	c.MerchantID, c.ProviderAccount = m.ID, m.ProviderAccount
	c.ChecksIdentifiers, c.DerivesKey = m.ChecksIdentifiers, m.DerivesKeys
}

// Request is a command that can be understood: its key can be looked up, and it can be
// compared with the request that the key stands for. Only Validate makes one.
type Request struct {
	merchantID      uuid.UUID
	providerAccount string

	invoiceID, paymentType string
	amount                 money.Amount
	paymentMethod          *string
	customer               *string
	externalReference      *string
	metadata               []byte // RFC 8785, or nil
	chargeBefore           *time.Time
	sentAt                 time.Time
	context                event.Context

	// barred says which rules stand against it if its key is new, nil when none does.
	// Those may have been others when the request first came.
	barred *InvalidError
}

// InvalidError says which fields of a request break which rules. It holds no
// values: they may be secrets.
type InvalidError struct {
	Fields []FieldError
	// CardData says that one of the fields looks like a card number.
	CardData bool
}

// FieldError is one broken rule.
type FieldError struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// Error implements error.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Field + " " + f.Problem
	}
	return strings.Join(texts, "; ")
}

// and adds what else is broken.
func (e *InvalidError) and(more InvalidError) *InvalidError {
	return &InvalidError{Fields: append(e.Fields, more.Fields...), CardData: e.CardData || more.CardData}
}

func (e *InvalidError) add(field, problem string) {
	e.Fields = append(e.Fields, FieldError{field, problem})
}

// Validate applies the rules without which a request means nothing. It returns
// *InvalidError with every broken rule, or an error of idempotency.CheckKey. Whether
// there is card data in it is found out here, too, and said here with the rest; alone it
// is a matter for Accept: the rules about that change with the merchant's settings and
// with versions, and the repeat of an accepted request is answered all the same.
func (c Command) Validate() (Request, error) {
	if c.IdempotencyKey != "" || !c.DerivesKey {
		if err := idempotency.CheckKey(c.IdempotencyKey); err != nil {
			return Request{}, err
		}
	}
	var invalid, barred InvalidError
	invalid.checkText(FieldInvoiceID, c.InvoiceID, InvoiceIDCharsMax)
	invalid.checkText(FieldPaymentType, c.PaymentType, PaymentTypeCharsMax)
	invalid.checkOptional(FieldPaymentMethod, c.PaymentMethod, PaymentMethodCharsMax)
	invalid.checkOptional(FieldCustomer, c.Customer, CustomerCharsMax)
	invalid.checkOptional(FieldExternalReference, c.ExternalReference, ExternalReferenceCharsMax)
	r := Request{
		merchantID: c.MerchantID, providerAccount: c.ProviderAccount,
		invoiceID: c.InvoiceID, paymentType: c.PaymentType,
		amount:        invalid.parseAmount(c.Amount, c.Currency),
		paymentMethod: c.PaymentMethod, customer: c.Customer, externalReference: c.ExternalReference,
		metadata:     invalid.parseMetadata(c.Metadata),
		chargeBefore: invalid.parseTime(FieldChargeBefore, c.ChargeBefore),
		sentAt:       c.SentAt,
		context:      c.Context(),
	}
	barred.refuseCards(c)
	if len(invalid.Fields) > 0 {
		return Request{}, invalid.and(barred)
	}
	if len(barred.Fields) > 0 {
		r.barred = &barred
	}
	return r, nil
}

// checkText allows printable ASCII with spaces inside only. Two identifiers that
// look alike must be alike, or one invoice is paid twice: no letters that come in
// two encodings, no invisible characters.
func (e *InvalidError) checkText(field, text string, charsMax int) {
	switch {
	case text == "":
		e.add(field, "is required and not empty")
	case len(text) > charsMax:
		e.add(field, fmt.Sprintf("has more than %d characters", charsMax))
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) || strings.Trim(text, " ") != text:
		e.add(field, "may only have printable ASCII characters, and no space at either end")
	}
}

func (e *InvalidError) checkOptional(field string, text *string, charsMax int) {
	if text != nil {
		e.checkText(field, *text, charsMax)
	}
}

func (e *InvalidError) parseTime(field string, text *string) *time.Time {
	if text == nil {
		return nil
	}
	at, err := time.Parse(time.RFC3339, *text)
	if err != nil {
		e.add(field, "is not a time in the form of RFC 3339, such as 2026-05-04T03:02:01Z")
		return nil
	}
	// The database keeps microseconds. Cut, not rounded: never a moment later
	// than the client allowed.
	at = at.UTC().Truncate(time.Microsecond)
	return &at
}

func (r Request) sentBefore(at time.Time) bool { return !r.sentAt.IsZero() && r.sentAt.Before(at) }
