package vocabulary

import (
	"slices"

	"github.com/bojanz/currency"
	"github.com/danielgtaylor/huma/v2"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// plainText is what identifiers are made of: printable ASCII, and spaces inside only.
const plainText = `^[!-~]([ -~]*[!-~])?$`

// currencyPattern is what all ISO 4217 codes look like.
const currencyPattern = `^[A-Z]{3}$`

// Identifier is the schema of an identifier, bounded as accept does it.
func Identifier(charsMax int) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	text(charsMax)(s)
	return s
}

// text bounds an identifier as accept does.
func text(charsMax int) func(*huma.Schema) {
	return func(s *huma.Schema) {
		one := 1
		s.MinLength, s.MaxLength, s.Pattern = &one, &charsMax, plainText
	}
}

func format(name string) func(*huma.Schema) {
	return func(s *huma.Schema) { s.Format = name }
}

func pattern(expression string) func(*huma.Schema) {
	return func(s *huma.Schema) { s.Pattern = expression }
}

// amountAsked is an amount in a request: text, or a number that no side may round.
func amountAsked(s *huma.Schema) {
	zero, most := 0.0, float64(money.MinorMax)
	*s = huma.Schema{
		Description: s.Description,
		AnyOf: []*huma.Schema{
			{Type: huma.TypeString, Pattern: `^(0|[1-9][0-9]{0,15})(\.[0-9]{1,4})?$`},
			{Type: huma.TypeNumber, ExclusiveMinimum: &zero, Maximum: &most},
		},
	}
}

// object is a JSON object of any members, or null.
func object(s *huma.Schema) {
	s.Type, s.Nullable, s.AdditionalProperties = huma.TypeObject, true, true
}

func currencies() []any {
	codes := currency.GetCurrencyCodes()
	slices.Sort(codes)
	return Enum(codes)
}

// states are the states of a payment.
func states() []any { return Enum(slices.Sorted(slices.Values(payment.States[:]))) }

// operationStates are the states that arrows lead an operation through.
func operationStates() []any {
	var found []payment.OperationState
	for _, arrow := range payment.Arrows() {
		found = append(found, arrow.From, arrow.To)
	}
	slices.Sort(found)
	return Enum(slices.Compact(found))
}

// Enum is a closed list of values as a schema has it, in the order in which they come.
func Enum[T any](values []T) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}
