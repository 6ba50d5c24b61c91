package operation_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
)

func TestI17_TheLastPaymentThatEndedIsFoundWhicheverWayItEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	merchant := b.fill(1000)
	last := func(invoice string) (ended map[int]operation.Ended) {
		require.NoError(t, pgx.BeginFunc(t.Context(), b.App, func(tx pgx.Tx) (err error) {
			ended, err = operation.LastEnded(t.Context(), tx, []operation.Invoice{
				{MerchantID: merchant, InvoiceID: "INV-none", PaymentType: "invoice"},
				{MerchantID: merchant, InvoiceID: invoice, PaymentType: "invoice"},
			}, "payments", time.Minute)
			return err
		}))
		return ended
	}
	numbered := func(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("0190a1b2-c3d4-7000-8000-%012x", n)) }
	require.Empty(t, last("INV-3"))
	require.Equal(t, numbered(1000), last("INV-0")[1].PaymentID)
	_, err := b.Owner.Exec(t.Context(), `ALTER TABLE payment DISABLE TRIGGER USER;
		UPDATE payment SET state = 'canceled' WHERE id IN ($1, $2)`, pgx.QueryExecModeSimpleProtocol, numbered(990), numbered(1000))
	require.NoError(t, err)
	require.Equal(t, numbered(1000), last("INV-0")[1].PaymentID, "canceled")
	_, err = b.Owner.Exec(t.Context(), "UPDATE payment SET state = 'captured' WHERE id = $1", numbered(1000))
	require.NoError(t, err)
	require.Equal(t, numbered(990), last("INV-0")[1].PaymentID, "canceled after the last that failed")
}

// The plan is made while the tables are empty, as in services that have just been
// installed. Then one invoice has 600 payments that failed.
func TestI17_AnInvoiceThatWasTriedOftenCostsNoMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	conn, err := b.App.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	statement, err := os.ReadFile("last_ended.sql")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan; PREPARE last_ended AS "+string(statement))
	require.NoError(t, err)
	execute := func(merchant uuid.UUID) string {
		return fmt.Sprintf("EXECUTE last_ended ('{%s}', '{INV-0}', '{invoice}', '10 minutes', 'payments')", merchant)
	}
	_, err = conn.Exec(t.Context(), execute(uuid.Nil))
	require.NoError(t, err)
	requireCost(t, conn, execute(b.fill(60_000)), 40, "an invoice that was tried often")
}
