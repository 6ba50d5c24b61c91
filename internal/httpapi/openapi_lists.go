package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/payonce/payonce/pkg/payment"
)

// listedBy is an identifier that payments are looked for by.
func listedBy(charsMax int) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: &charsMax, Pattern: `^[!-~]([ -~]*[!-~])?$`}
}

func paymentStates() []any {
	states := make([]any, len(payment.States))
	for i, s := range payment.States {
		states[i] = s
	}
	return states
}
