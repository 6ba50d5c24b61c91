package vocabulary

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// names are the schemas whose Go types have another name, or one that says little
// outside their package.
var names = map[reflect.Type]string{
	reflect.TypeFor[payment.View]():       "Payment",
	reflect.TypeFor[problem.Document]():   "Problem",
	reflect.TypeFor[accept.PaymentBody](): "PaymentRequest",
	reflect.TypeFor[event.Requested]():    "PaymentRequested",
	reflect.TypeFor[event.Outcome]():      "PaymentOutcome",
}

// texts are what the schemas are.
var texts = map[string]string{
	"Payment": "A payment as it is at the moment. Only `captured`, `failed` and `canceled` are final: " +
		"a payment in any other state has not failed and must not be paid again elsewhere.",
	"Problem":          "A problem document (RFC 9457). `retryable` says whether the very same request, with the same key, can succeed later.",
	"FieldError":       "One broken rule.",
	"Nothing":          "An empty object.",
	"PaymentPage":      "A page of a merchant's payments, newest first.",
	"HistoryPage":      "A page of what happened to a payment, oldest first.",
	"HistoryEntry":     "A move of one of the payment's operations.",
	"HistoryEvent":     "An event as it was published.",
	"PaymentRequest":   "A request for a payment. A member that is null is an absent one.",
	"PaymentRequested": "Charge this operation. The message only names the work: what is charged is read from the database.",
	"PaymentOutcome":   "How a payment moved.",
}

// member is what a name means and which values it may have.
type member struct {
	text    string
	bound   func(*huma.Schema)
	example any
}

const (
	exampleID   = "0190a1b2-c3d4-7000-8000-000000000001"
	exampleTime = "2026-05-04T03:02:01.123456Z"
)

// members are the members of all documents.
var members = map[string]member{
	"id":          {text: "The payment's id.", example: exampleID},
	"paymentId":   {text: "The payment's id, which is the record's key too.", example: exampleID},
	"operationId": {text: "Names the one money movement, here and at the provider.", example: "0190a1b2-c3d4-7000-8000-000000000002"},
	"merchantId":  {text: "The merchant's id.", example: "0190a1b2-c3d4-7000-8000-000000000009"},
	"state":       {text: "Where the payment stands.", example: payment.StateCaptured},
	"reason":      {text: "A stable code for why the payment failed or is not final yet.", example: nil},

	"amount":                {text: "The amount in the currency's decimals.", bound: pattern(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`), example: "10.00"},
	"amountMinor":           {text: "The amount in the currency's minor units.", bound: pattern(`^-?(0|[1-9][0-9]*)$`), example: "1000"},
	"refunded":              {text: "The sum of the refunds that have not failed.", bound: pattern(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`), example: "0.00"},
	"currency":              {text: "ISO 4217, in upper case.", example: "TRY"},
	"PaymentRequest.amount": {text: "Text or a number, with at most the currency's decimals, above zero.", bound: amountAsked, example: "10.00"},
	"PaymentRequest.currency": {text: "ISO 4217, in upper case. The provider has to take it.", example: "TRY",
		bound: func(s *huma.Schema) { s.Enum = currencies() }},

	"invoiceId": {text: "The merchant's own name for what is paid. One live payment per invoice and payment type.",
		bound: text(accept.InvoiceIDCharsMax), example: "INV-2026-0017"},
	"paymentType": {text: "What kind of payment it is, in the merchant's words.", bound: text(accept.PaymentTypeCharsMax), example: "invoice"},
	"paymentMethod": {text: "The provider's token. Never a card number.",
		bound: text(accept.PaymentMethodCharsMax), example: "tok_simulated"},
	"customer": {text: "The provider's name for the customer.", bound: text(accept.CustomerCharsMax), example: "cus_17"},
	"externalReference": {text: "The merchant's second name for the payment. One live payment per reference.",
		bound: text(accept.ExternalReferenceCharsMax), example: "PO-7"},
	"metadata": {text: "The merchant's own notes, at most 8 KiB, at most 8 deep. They are compared when the request is repeated and never read.",
		bound: object, example: map[string]any{"cart": "17"}},
	"chargeBefore": {text: "The last moment at which the charge may be sent to the provider.", bound: format("date-time"), example: "2026-05-05T00:00:00Z"},

	"payments":            {text: "The payments."},
	"events":              {text: "What happened."},
	"PaymentPage.next":    {text: "The cursor of the next page; null on the last one."},
	"HistoryPage.next":    {text: "The cursor of the next page; null on the last one."},
	"kind":                {text: "What the operation does: `charge`, `refund` or `void`.", example: payment.KindCharge},
	"from":                {text: "The state before, of the payment where it is its charge; null when the operation was made.", example: payment.StateProcessing},
	"to":                  {text: "The state after, of the payment where it is its charge.", example: payment.StateCaptured},
	"at":                  {text: "When it became so, by the database's clock.", example: exampleTime},
	"event":               {text: "The event that told of it; null when nobody was told."},
	"HistoryEntry.reason": {text: "A stable code for why it moved."},
	"HistoryEvent.id":     {text: "The event's id on the topic, the same however often it is published.", example: "0190a1b2-c3d4-7000-8000-000000000004"},
	"HistoryEvent.type":   {text: "The event's type.", example: event.PaymentCaptured},

	"nextCheckAt": {text: "When an open payment is looked at again; null once it is final."},
	"createdAt":   {text: "When the payment was taken on, UTC.", example: exampleTime},
	"updatedAt":   {text: "When the payment moved last, UTC.", example: exampleTime},
	"occurredAt":  {text: "When it became true, by the database's clock.", example: exampleTime},

	"provider":         {text: "The provider account that the operation belongs to.", example: "simulated"},
	"providerObjectId": {text: "The provider's own id, once it is known.", example: "ch_1"},

	"type":            {text: "Names the kind of problem. It never changes.", bound: pattern("^" + problem.Prefix + "[a-z-]+$")},
	"title":           {text: "The kind of problem, for people."},
	"status":          {text: "The HTTP status."},
	"detail":          {text: "What is the matter this time, for people. It repeats no value of the request."},
	"retryable":       {text: "Whether the very same request, with the same key, can succeed later."},
	"errors":          {text: "The rules that the request breaks, all of them."},
	"differingFields": {text: "The fields in which the request differs from the first one with this key."},
	"payment":         {text: "The payment that stands in the way."},
	"limit":           {text: "The limit, in bytes."},
	"field":           {text: "The field's name.", example: "amount"},
	"problem":         {text: "What is wrong with it, for people.", example: "must be greater than zero"},
}
