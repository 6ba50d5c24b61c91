package operation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func TestARefundThatHasNoSumIsNotMoved(t *testing.T) {
	t.Parallel()
	lira, err := money.New(400, "TRY")
	require.NoError(t, err)
	euro, err := money.New(400, "EUR")
	require.NoError(t, err)
	refund := operation.Locked{
		Kind: payment.KindRefund, RefundReference: new("R-1"), Amount: lira,
		Standing: operation.Standing{State: payment.OperationUnknown},
		Payment:  operation.Payment{State: payment.StateCaptured, Refunded: lira},
	}
	fails := operation.Move{From: refund, To: operation.Standing{State: payment.OperationFailed}}
	after, err := fails.After()
	require.NoError(t, err)
	require.Zero(t, after.Payment.Refunded.Minor())

	fails.From.Payment.Refunded = euro
	_, err = fails.After()
	require.ErrorIs(t, err, money.ErrCurrencyMismatch)
}
