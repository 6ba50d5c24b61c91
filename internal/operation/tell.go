package operation

import (
	"fmt"

	"github.com/payonce/payonce/pkg/event"
)

// Outcome is what an event tells of a locked charge's payment.
func (l Locked) Outcome() event.Outcome {
	return event.Outcome{
		PaymentID: l.PaymentID, OperationID: l.ID, MerchantID: l.MerchantID, State: l.Payment.State, Reason: l.Reason,
		InvoiceID: l.Payment.InvoiceID, PaymentType: l.Payment.PaymentType, ExternalReference: l.Payment.ExternalReference,
		Amount: l.Amount.Decimal(), AmountMinor: fmt.Sprint(l.Amount.Minor()), Currency: l.Amount.Currency(),
		Provider: l.ProviderAccount, ProviderObjectID: l.ProviderObjectID, OccurredAt: l.Now,
	}
}

// Refunded is what an event tells of a locked merchant's refund.
func (l Locked) Refunded() event.Refunded {
	return event.Refunded{
		PaymentID: l.PaymentID, RefundID: l.ID, MerchantID: l.MerchantID, RefundReference: given(l.RefundReference),
		State: l.State, Reason: l.Reason, InvoiceID: l.Payment.InvoiceID,
		Amount: l.Amount.Decimal(), AmountMinor: fmt.Sprint(l.Amount.Minor()), Currency: l.Amount.Currency(),
		RefundedTotal: l.Payment.Refunded.Decimal(), RefundedTotalMinor: fmt.Sprint(l.Payment.Refunded.Minor()),
		Provider: l.ProviderAccount, ProviderObjectID: l.ProviderObjectID, OccurredAt: l.Now,
	}
}
