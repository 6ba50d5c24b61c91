package problem

import (
	"fmt"

	"github.com/payonce/payonce/internal/accept"
)

// barred explains what stands in the way of a cancel or a refund.
func barred(b *accept.BarrierError) *Error {
	f := InternalError.Failure(sameAgain).Because(b)
	switch b.Barrier {
	case accept.BarrierNoPayment:
		f = ResourceNotFound.Failure("There is no such payment.")
	case accept.BarrierKeyReused:
		f = keyReused(b.Differing)
	case accept.BarrierKeyExpired:
		f = keyExpired("/v1/payments/{id}, or /v1/payments/{id}/refunds,")
	case accept.BarrierNotCancelable:
		f = NotCancelable.Failure("It was sent to the provider, or may have been, or is final. Wait until it is final, and refund it when it was captured.")
	case accept.BarrierNotRefundable:
		f = NotRefundable.Failure("Only a captured payment can be refunded, and only while the provider names it and does not deny it. " +
			"Wait for an open one, or cancel it; one that failed or was canceled has taken no money.")
	case accept.BarrierTooManyRefunds:
		f = NotRefundable.Failure(fmt.Sprintf("It has had %d refunds, and a payment has no more than that.", accept.RefundsPerPaymentMax))
	case accept.BarrierReferenceUsed:
		f = RefundReferenceUse.Failure("A reference stands for one refund for ever, also for one that failed. Take another one for another refund.")
	case accept.BarrierBeyondLimit:
		f = RefundBeyondLimit.Failure("Of this payment " + left(b) + " can be refunded. Refunds that are not final yet count." + doubted(b))
	case accept.BarrierNoRefunds:
		f = RefundsUnsupported.Failure("The payment's provider account: " + b.Problem + ".")
	}
	f.Payment, f.Refund = b.Payment, b.Refund
	return f
}

func doubted(b *accept.BarrierError) string {
	if !b.Doubted {
		return ""
	}
	return " So does a refund that is being looked at: the provider says that money of it went out which this payment does not account for yet."
}

func left(b *accept.BarrierError) string {
	if b.Left.Minor() <= 0 {
		return "nothing more"
	}
	return fmt.Sprintf("%s %s", b.Left.Decimal(), b.Left.Currency())
}
