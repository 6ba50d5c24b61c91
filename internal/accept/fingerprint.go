package accept

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/payonce/payonce/internal/idempotency"
)

// canonical is the request as two requests are compared: amounts in minor units,
// times in UTC, metadata in RFC 8785. The method is the HTTP door's for all doors,
// because they share keys.
//
// The payment method goes in as a hash, because the fields are stored with the
// key and the token has one home, the payment's row; metadata does for its length.
func (r Request) canonical() idempotency.Canonical {
	amount, currency := strconv.FormatInt(r.amount.Minor(), 10), string(r.amount.Currency())
	fields := idempotency.Fields{
		FieldInvoiceID:         &r.invoiceID,
		FieldPaymentType:       &r.paymentType,
		FieldAmount:            &amount,
		FieldCurrency:          &currency,
		FieldPaymentMethod:     nil,
		FieldCustomer:          r.customer,
		FieldExternalReference: r.externalReference,
		FieldMetadata:          nil,
		FieldChargeBefore:      nil,
	}
	if r.paymentMethod != nil {
		fields[FieldPaymentMethod] = hashed([]byte(*r.paymentMethod))
	}
	if r.metadata != nil {
		fields[FieldMetadata] = hashed(r.metadata)
	}
	if r.chargeBefore != nil {
		fields[FieldChargeBefore] = new(r.chargeBefore.Format(time.RFC3339Nano))
	}
	return idempotency.Canonical{Method: http.MethodPost, Fields: fields}
}

func hashed(value []byte) *string {
	hash := sha256.Sum256(value)
	return new(hex.EncodeToString(hash[:]))
}
