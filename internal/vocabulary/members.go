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
	reflect.TypeFor[payment.RefundView](): "Refund",
	reflect.TypeFor[accept.RefundBody]():  "RefundRequest",
	reflect.TypeFor[event.Requested]():    "PaymentRequested",
	reflect.TypeFor[event.Outcome]():      "PaymentOutcome",
	reflect.TypeFor[event.Accepted]():     "PaymentAccepted",
	reflect.TypeFor[event.RefundAsked]():  "RefundRequested",
	reflect.TypeFor[event.Refunded]():     "RefundOutcome",
}

// texts are what the schemas are.
var texts = map[string]string{
	"Payment": "A payment as it is at the moment. Only `captured`, `failed` and `canceled` are final: " +
		"a payment in any other state has not failed and must not be paid again elsewhere.",
	"Problem":    "A problem document (RFC 9457). `retryable` says whether the very same request, with the same key, can succeed later.",
	"FieldError": "One broken rule.",
	"Nothing":    "An empty object.",
	"NoBody":     "An empty object.",
	"Refund": "A refund as it is at the moment. Only `succeeded` and `failed` are final: in any other state it has not failed, " +
		"and the money must not be given back in another way.",
	"RefundRequest":    "A request for a refund. A member that is null is an absent one; without an amount all that is left is refunded.",
	"RefundPage":       "A page of a payment's refunds, oldest first.",
	"PaymentPage":      "A page of a merchant's payments, newest first.",
	"HistoryPage":      "A page of what happened to a payment, oldest first.",
	"HistoryEntry":     "A move of one of the payment's operations.",
	"HistoryEvent":     "An event as it was published.",
	"PaymentRequest":   "A request for a payment. A member that is null is an absent one.",
	"PaymentRequested": "Charge this operation. The message only names the work: what is charged is read from the database.",
	"PaymentOutcome":   "How a payment moved.",
	"PaymentAccepted":  "The payment as it was answered.",
	"RefundRequested":  "Give this much back. As with PaymentRequested the message only names the work.",
	"RefundOutcome":    "How a refund ended.",
}

// member is what a name means and which values it may have.
type member struct {
	text    string
	bound   func(*huma.Schema)
	example any
	// optional says that a request may leave it out although its schema has no null.
	optional bool
}

// exampleTime is ExampleTime as it is sent.
const exampleTime = "2026-05-04T03:02:01.123456Z"

// members are the members of all documents.
var members = map[string]member{
	"id":          {text: "The payment's id.", example: ExamplePaymentID},
	"paymentId":   {text: "The payment's id, which is the record's key too.", example: ExamplePaymentID},
	"operationId": {text: "Names the one money movement, here and at the provider.", example: ExampleOperationID},
	"merchantId":  {text: "The merchant's id.", example: ExampleMerchantID},
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

	"refundId": {text: "The refund's id, which names its operation too.", example: ExampleRefundID},
	"refundReference": {text: "The merchant's name for the refund, unique per payment for ever.",
		bound: text(accept.RefundReferenceCharsMax), example: "RMA-3"},
	"refundedTotal": {text: "The sum of the payment's refunds that have not failed, in the currency's decimals.",
		bound: pattern(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`), example: "10.00"},
	"refundedTotalMinor": {text: "The same in minor units.", bound: pattern(`^(0|[1-9][0-9]*)$`), example: "1000"},
	"Refund.id":          {text: "The refund's id, which names its operation too.", example: ExampleRefundID},
	"Refund.paymentId":   {text: "The payment's id.", example: ExamplePaymentID},
	"Refund.state":       {text: "Where the refund stands.", example: payment.OperationSucceeded},
	"Refund.reason":      {text: "A stable code for why the refund failed or is not final yet.", example: nil},
	"Refund.createdAt":   {text: "When the refund was taken on, UTC.", example: exampleTime},
	"Refund.updatedAt":   {text: "When the refund moved last, UTC.", example: exampleTime},
	"RefundRequest.amount": {text: "Text or a number, with at most the currency's decimals, above zero. Absent: all that is left.",
		bound: amountAsked, example: "4.00", optional: true},
	"RefundRequest.currency":  {text: "The payment's currency.", bound: pattern(currencyPattern), example: "TRY"},
	"refunds":                 {text: "The refunds."},
	"next":                    {text: "What the next page begins after; null on the last one."},
	"payments":                {text: "The payments."},
	"events":                  {text: "What happened."},
	"PaymentPage.next":        {text: "The cursor of the next page; null on the last one."},
	"HistoryPage.next":        {text: "The cursor of the next page; null on the last one."},
	"kind":                    {text: "What the operation does: `charge` or `refund`.", example: payment.KindCharge},
	"from":                    {text: "The state before; a charge has its payment's. Null when the operation was made.", example: payment.StateProcessing},
	"to":                      {text: "The state after; a charge has its payment's.", example: payment.StateCaptured},
	"at":                      {text: "When it became so, by the database's clock.", example: exampleTime},
	"event":                   {text: "The event that told of it; null when nobody was told."},
	"HistoryEntry.reason":     {text: "A stable code for why it moved."},
	"HistoryEvent.id":         {text: "The event's id on the topic, the same however often it is published.", example: ExampleEventID},
	"HistoryEvent.type":       {text: "The event's type.", example: event.PaymentCaptured},
	"refund":                  {text: "The refund that stands in the way."},
	"replayed":                {text: "Whether the key stood for this very command before."},
	"RefundOutcome.state":     {text: "How the refund ended.", example: payment.OperationSucceeded},
	"RefundOutcome.reason":    {text: "A stable code for why the refund failed."},
	"PaymentAccepted.payment": {text: "The payment as it was answered: for one that is final, the very bytes that every repeat gets."},

	"nextCheckAt": {text: "When an open payment or refund is looked at again; null once it is final."},
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
