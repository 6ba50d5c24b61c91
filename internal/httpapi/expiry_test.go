package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// afterSweep moves the clock to where the keys of now are old enough, and sweeps.
func (d *door) afterSweep(t *testing.T) (swept int) {
	t.Helper()
	d.SetNow(t, idempotency.WindowDefault+idempotency.ClockMargin+time.Minute)
	swept, err := idempotency.Sweeper{Pool: d.App, Window: idempotency.WindowDefault, Log: zap.NewNop()}.Sweep(t.Context())
	require.NoError(t, err)
	return swept
}

// ulid makes one of that time, in lower case. What would be random is not.
func ulid(at time.Time) string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	var digits [10]byte
	for i, rest := len(digits)-1, at.UnixMilli(); i >= 0; i, rest = i-1, rest>>5 {
		digits[i] = alphabet[rest&31]
	}
	return string(digits[:]) + "0123456789abcdef"
}

func TestT10_I12_ATimeOrderedKeyAnswersUntilItIsSweptAndIsThenRefused(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"a UUID of version 7": uuid.Must(uuid.NewV7()).String(),
		"in upper case":       strings.ToUpper(uuid.Must(uuid.NewV7()).String()),
		"a ULID":              ulid(time.Now()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			body := order("INV-1", `"10.00"`)
			first := d.post(t, key, body)
			require.Equal(t, http.StatusAccepted, first.status)
			settle.Charge(t, d.App, first.view(t), payment.VerdictDeclined)
			d.SetNow(t, idempotency.WindowDefault-time.Minute)
			before := d.post(t, key, body)
			d.SetNow(t, idempotency.WindowDefault+time.Minute)
			after := d.post(t, key, body)
			require.Equal(t, http.StatusCreated, before.status)
			require.Equal(t, string(before.body), string(after.body), "as long as it is stored")
			require.Equal(t, "true", after.header.Get("Idempotent-Replayed"))

			require.Equal(t, 1, d.afterSweep(t))
			stored := d.stored(t)
			refused := d.post(t, key, body)
			require.Equal(t, http.StatusBadRequest, refused.status)
			p := refused.problem(t)
			require.Equal(t, "urn:payonce:problem:idempotency-key-expired", p.Type)
			require.False(t, p.Retryable)
			require.Contains(t, p.Detail, "GET /v1/payments?invoiceId=")
			require.Contains(t, p.Detail, "a new key")
			require.Empty(t, refused.header.Get("Idempotent-Replayed"))
			require.Equal(t, stored, d.stored(t))
		})
	}
}

func TestT10_I12_AnyOtherSweptKeyIsNewAndPaysOnlyAnInvoiceThatIsFree(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	paid, declined := d.post(t, "k-1", order("INV-1", `"10.00"`)), d.post(t, "k-2", order("INV-2", `"10.00"`))
	open := d.post(t, "k-3", order("INV-3", `"10.00"`))
	settle.Charge(t, d.App, paid.view(t), payment.VerdictCaptured)
	settle.Charge(t, d.App, declined.view(t), payment.VerdictDeclined)
	require.Equal(t, 2, d.afterSweep(t))

	again := d.post(t, "k-1", order("INV-1", `"10.00"`))
	require.Equal(t, http.StatusConflict, again.status)
	p := again.problem(t)
	require.Equal(t, "urn:payonce:problem:invoice-has-payment", p.Type)
	require.Equal(t, paid.view(t).ID, p.Payment.ID)
	require.Equal(t, payment.StateCaptured, p.Payment.State)

	second := d.post(t, "k-2", order("INV-2", `"12.00"`))
	require.Equal(t, http.StatusAccepted, second.status)
	require.Empty(t, second.header.Get("Idempotent-Replayed"))
	require.NotEqual(t, declined.view(t).ID, second.view(t).ID)

	still := d.post(t, "k-3", order("INV-3", `"10.00"`))
	require.Equal(t, http.StatusAccepted, still.status)
	require.Equal(t, "true", still.header.Get("Idempotent-Replayed"), "an open payment keeps its key")
	require.Equal(t, open.view(t).ID, still.view(t).ID)
}
