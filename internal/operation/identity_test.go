package operation_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// wish is a payment that wants identities; nothing else of it matters here.
func wish(merchant uuid.UUID, invoice, reference string) operation.NewPayment {
	p := operation.NewPayment{PaymentID: uuid.Must(uuid.NewV7()), MerchantID: merchant, InvoiceID: invoice, PaymentType: "invoice"}
	if reference != "" {
		p.ExternalReference = &reference
	}
	return p
}

func (b *bench) held(wishes ...operation.NewPayment) map[uuid.UUID]uuid.UUID {
	b.t.Helper()
	return must(b, func(ctx context.Context, tx pgx.Tx) (map[uuid.UUID]uuid.UUID, error) {
		return operation.HoldIdentities(ctx, tx, wishes)
	})
}

func TestI9_AnInvoiceIsHeldOnceUnderAHundredParallelRequests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shop := uuid.New()
	taken := make([]map[uuid.UUID]uuid.UUID, 100)
	wishes := make([]operation.NewPayment, 100)
	var requests errgroup.Group
	for i := range taken {
		wishes[i] = wish(shop, "INV-1", "")
		requests.Go(func() (err error) {
			taken[i], err = within(t.Context(), b.App, func(tx pgx.Tx) (map[uuid.UUID]uuid.UUID, error) {
				return operation.HoldIdentities(t.Context(), tx, wishes[i:i+1])
			})
			return err
		})
	}
	require.NoError(t, requests.Wait())
	var holder uuid.UUID
	require.NoError(t, b.App.QueryRow(t.Context(), "SELECT payment_id FROM invoice_identity").Scan(&holder))
	for i, w := range wishes {
		if w.PaymentID == holder {
			require.Empty(t, taken[i])
		} else {
			require.Equal(t, map[uuid.UUID]uuid.UUID{w.PaymentID: holder}, taken[i], "each is told who has it")
		}
	}
}

func TestI9_IdentitiesOfOthersAreOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shop := uuid.New()
	deposit := wish(shop, "INV-1", "")
	deposit.PaymentType = "deposit"
	require.Empty(t, b.held(wish(shop, "INV-1", "PO-1"), wish(shop, "INV-2", "PO-2"), deposit, wish(uuid.New(), "INV-1", "PO-1")))
}

func TestI9_TwoOfOneGroupWantOneInvoiceAndOneGetsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shop := uuid.New()
	first, second := wish(shop, "INV-1", ""), wish(shop, "INV-1", "")
	taken := b.held(first, second)
	require.Len(t, taken, 1)
	if holder, refused := taken[first.PaymentID]; refused {
		require.Equal(t, second.PaymentID, holder)
	} else {
		require.Equal(t, first.PaymentID, taken[second.PaymentID])
	}
}

func TestI9_WhoCannotHoldItsReferenceLetsGoOfItsInvoice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shop := uuid.New()
	first := wish(shop, "INV-1", "PO-1")
	require.Empty(t, b.held(first))

	second, third := wish(shop, "INV-2", "PO-1"), wish(shop, "INV-3", "PO-3")
	require.Equal(t, map[uuid.UUID]uuid.UUID{second.PaymentID: first.PaymentID}, b.held(second, third))
	require.Empty(t, b.held(wish(shop, "INV-2", "PO-2")), "the refused payment blocks nobody")
	require.Equal(t, 1, b.count("SELECT count(*) FROM invoice_identity WHERE payment_id = $1", third.PaymentID))

	byInvoice := wish(shop, "INV-1", "PO-9")
	require.Equal(t, map[uuid.UUID]uuid.UUID{byInvoice.PaymentID: first.PaymentID}, b.held(byInvoice))
	require.Zero(t, b.count("SELECT count(*) FROM reference_identity WHERE external_reference = 'PO-9'"))
}

// The first wish wins the invoice, loses its reference and with it the invoice;
// the second one was refused for the sake of a payment that does not come.
func TestI9_AGroupThatIsEntangledIsTakenApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shop := uuid.New()
	require.Empty(t, b.held(wish(shop, "INV-1", "PO-1")))
	_, err := within(t.Context(), b.App, func(tx pgx.Tx) (map[uuid.UUID]uuid.UUID, error) {
		return operation.HoldIdentities(t.Context(), tx, []operation.NewPayment{wish(shop, "INV-2", "PO-1"), wish(shop, "INV-2", "PO-1")})
	})
	require.ErrorIs(t, err, operation.ErrEntangled)
	require.Empty(t, b.held(wish(shop, "INV-2", "PO-2")), "nothing of it was kept")
}

func TestI9_TheIdentityOfAFailedPaymentIsFreeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reference := "PO-1"
	first := fixture.Accept(t, b.App, func(p *operation.NewPayment) { p.ExternalReference = &reference })
	second := wish(first.MerchantID, first.InvoiceID, reference)
	require.Equal(t, first.PaymentID, b.held(second)[second.PaymentID])
	require.NoError(t, b.moved(first, operation.Standing{State: payment.OperationCanceled, WaitsFor: operation.Machine}))
	require.Empty(t, b.held(second))
}

// Two groups that want the same identities in opposite order must not wait for
// each other in a circle.
func TestIdentitiesAreTakenInOneOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shop := uuid.New()
	for range 30 {
		var groups errgroup.Group
		round := uuid.NewString()
		for _, names := range [][]string{{"a", "B", "ç", "z"}, {"z", "ç", "B", "a"}} {
			groups.Go(func() error {
				_, err := within(t.Context(), b.App, func(tx pgx.Tx) (map[uuid.UUID]uuid.UUID, error) {
					var wishes []operation.NewPayment
					for _, name := range names {
						wishes = append(wishes, wish(shop, round+name, round+name))
					}
					return operation.HoldIdentities(t.Context(), tx, wishes)
				})
				return err
			})
		}
		require.NoError(t, groups.Wait())
	}
}
