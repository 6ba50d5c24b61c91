package accept

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/operation"
)

// DerivedRepeatFor is how long after its payment failed the same request, without a
// key, is taken for a repeat and answered as the first one was. A client's own retries
// come within minutes; a person who tries the same card again may have to wait as long.
const DerivedRepeatFor = 10 * time.Minute

// derivedMark begins derived keys. A client that sends such a key itself gets what it
// stands for: they are in the merchant's own scope, as all its keys are.
const derivedMark = "derived:"

// deriveKeys gives the requests that came without a key the one that their invoice
// stands for. It changes with each payment of the invoice that comes to nothing, so
// that the invoice can be paid again: while a payment lives, whatever asks for its
// invoice meets its key, and gets its answer or the names of the fields that differ.
//
// What is read here may be old when the key is reserved, and that harms nobody. If the
// payment has ended meanwhile, its key is still there and gives its answer; if another
// request was faster, both have one key; and whatever the key, the invoice's identity
// lets only one payment live.
func deriveKeys(ctx context.Context, tx pgx.Tx, candidates []*candidate) error {
	without := filter(candidates, func(c *candidate) bool { return c.entry.Key == "" })
	if len(without) == 0 {
		return nil
	}
	invoices := make([]operation.Invoice, len(without))
	for i, c := range without {
		invoices[i] = operation.Invoice{MerchantID: c.request.merchantID, InvoiceID: c.request.invoiceID, PaymentType: c.request.paymentType}
	}
	ended, err := operation.LastEnded(ctx, tx, invoices, Route, DerivedRepeatFor)
	if err != nil {
		return err
	}
	for i, c := range without {
		last := ended[i] // zero when no payment of the invoice has ended
		repeated, err := c.repeats(last)
		if err != nil {
			return err
		}
		if repeated {
			c.setKey(*last.Key)
		} else {
			c.setKey(derivedKey(invoices[i], last.PaymentID))
		}
	}
	return nil
}

// repeats reports whether this is the request whose payment ended a moment ago.
func (c *candidate) repeats(last operation.Ended) (bool, error) {
	if !last.Recent || last.Key == nil {
		return false, nil
	}
	fingerprint, err := c.entry.Request.Fingerprint()
	return err == nil && bytes.Equal(fingerprint[:], last.Fingerprint), err
}

// derivedKey is one text for each invoice and each payment of it that has ended. No
// line break is in any of the parts.
func derivedKey(i operation.Invoice, ended uuid.UUID) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{i.InvoiceID, i.PaymentType, ended.String()}, "\n")))
	return derivedMark + hex.EncodeToString(sum[:])
}

func (c *candidate) setKey(key string) {
	c.entry.Key, c.payment.Context.IdempotencyKey = key, key
}
