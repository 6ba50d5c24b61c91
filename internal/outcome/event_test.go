package outcome

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// told is a charge that moves, with every field that an event shows.
func told(from, to payment.OperationState, reason *string) operation.Move {
	at := time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)
	return operation.Move{
		From: operation.Locked{
			ID:         uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000002"),
			PaymentID:  uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000001"),
			MerchantID: uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000003"), Kind: payment.KindCharge, ProviderAccount: "card",
			Amount: amount(1000, "TRY"), Standing: operation.Standing{State: from, Fence: 1}, Now: at,
			Payment: operation.Payment{
				Amount: amount(1000, "TRY"), Refunded: amount(0, "TRY"), InvoiceID: "INV-1", PaymentType: "invoice",
				ExternalReference: new("PO-7"), CreatedAt: at,
			},
		},
		To: operation.Standing{State: to, Reason: reason, Fence: 2, ProviderObjectID: new("ch_1")},
	}
}

func tellMove(t *testing.T, p Publisher, m operation.Move) (operation.History, error) {
	t.Helper()
	after, err := m.After()
	require.NoError(t, err)
	return p.tell(m.From.State, after)
}

// The payloads are a contract: changing one is another version of its type (E2).
func TestE1_TheDataOfAnEventIsGolden(t *testing.T) {
	t.Parallel()
	const head = `{"paymentId":"0190a1b2-c3d4-7000-8000-000000000001","operationId":"0190a1b2-c3d4-7000-8000-000000000002",` +
		`"merchantId":"0190a1b2-c3d4-7000-8000-000000000003",`
	const tail = `"invoiceId":"INV-1","paymentType":"invoice","externalReference":"PO-7","amount":"10.00","amountMinor":"1000",` +
		`"currency":"TRY","provider":"card","providerObjectId":"ch_1","occurredAt":"2026-05-04T03:02:01.123456Z"}`
	p := Publisher{Topic: "payonce.events", Source: event.Source("main")}
	for state, want := range map[payment.OperationState]struct {
		kind   event.Type
		reason *string
		middle string
	}{
		payment.OperationPending:   {event.PaymentPending, nil, `"state":"pending","reason":null,`},
		payment.OperationUnknown:   {event.PaymentUnknown, new("no-answer"), `"state":"unknown","reason":"no-answer",`},
		payment.OperationSucceeded: {event.PaymentCaptured, nil, `"state":"captured","reason":null,`},
		payment.OperationFailed:    {event.PaymentFailed, new("declined"), `"state":"failed","reason":"declined",`},
		payment.OperationCanceled:  {event.PaymentCanceled, nil, `"state":"canceled","reason":null,`},
	} {
		h, err := tellMove(t, p, told(payment.OperationProcessing, state, want.reason))
		require.NoError(t, err)
		require.Equal(t, want.kind, h.Event.Type)
		require.Equal(t, head+want.middle+tail, string(h.Event.Payload), state)
		require.Equal(t, "/payonce/main", h.Event.Source)
		require.Equal(t, h.PaymentID, h.Event.Key)
		require.EqualValues(t, 2, h.Fence)
	}
}

func TestOurOwnAffairsAreToldToNobody(t *testing.T) {
	t.Parallel()
	h, err := tellMove(t, Publisher{}, told(payment.OperationProcessing, payment.OperationCreated, new(ReasonRetrying)))
	require.NoError(t, err)
	require.Nil(t, h.Event)
	require.Equal(t, ReasonRetrying, h.Reason)

	void := told(payment.OperationProcessing, payment.OperationSucceeded, nil)
	void.From.Kind = payment.KindVoid
	h, err = tellMove(t, Publisher{}, void)
	require.NoError(t, err)
	require.Nil(t, h.Event, "a charge's events tell of charges")
}

func TestARetryWaitsLongerEachTimeAndNotForEver(t *testing.T) {
	t.Parallel()
	var last time.Duration
	for attempts := 1; attempts < 30; attempts++ {
		least, most := retryDelay(attempts, 0), retryDelay(attempts, 0.999999)
		require.GreaterOrEqual(t, least, RetryDelayMin)
		require.Greater(t, most, least, "jittered")
		require.LessOrEqual(t, most, RetryDelayMax)
		require.GreaterOrEqual(t, least, last)
		last = least
	}
	require.Equal(t, RetryDelayMin, retryDelay(1, 0))
	require.Equal(t, 2*RetryDelayMin, retryDelay(2, 0))
	require.Equal(t, RetryDelayMax/2, retryDelay(29, 0))
}
