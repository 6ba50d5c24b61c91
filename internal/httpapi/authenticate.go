package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/problem"
)

// authenticate finds the merchant by the Authorization header.
// Source: RFC 6750, section 2.1; the scheme's name has no case (RFC 9110, 11.1).
func (a *api) authenticate(w http.ResponseWriter, r *http.Request) (merchant.Merchant, error) {
	lines := r.Header.Values("Authorization")
	if len(lines) != 1 {
		return merchant.Merchant{}, problem.Unauthorized.Failure("Send one header Authorization: Bearer API-KEY.")
	}
	scheme, key, _ := strings.Cut(lines[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return merchant.Merchant{}, problem.Unauthorized.Failure("Send one header Authorization: Bearer API-KEY.")
	}
	m, err := a.Merchants.Authenticate(r.Context(), strings.TrimLeft(key, " "))
	if errors.Is(err, merchant.ErrUnknownKey) {
		return merchant.Merchant{}, problem.Unauthorized.Failure("The API key is not valid.")
	}
	if errors.Is(err, merchant.ErrTooManyStrangers) {
		return merchant.Merchant{}, tooFast(w, 0, "Too many unknown API keys are being tried here.")
	}
	if err != nil {
		return merchant.Merchant{}, fmt.Errorf("authenticating: %w", err)
	}
	return m, nil
}
