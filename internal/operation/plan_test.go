package operation_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A plan is made once, when the tables may be empty, and used for as long as its
// connection lives. Beside the merchant, an index of the lists would look as good there
// as the key.
func TestOnePaymentCostsTheSameHoweverManyItsMerchantHas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	conn, err := b.App.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	first, refund := uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000001"), uuid.MustParse("0190a1b2-c3d4-7000-9000-000000000001")
	var every []string
	for n := range 64 {
		every = append(every, fmt.Sprintf("0190a1b2-c3d4-7000-8000-%012x", 700*n+1))
	}
	execute := map[string]func(merchant uuid.UUID) string{
		"view": func(merchant uuid.UUID) string {
			return fmt.Sprintf("EXECUTE view ('{%s}', '{%s}')", strings.Join(every, ","), strings.TrimSuffix(strings.Repeat(merchant.String()+",", 64), ","))
		},
		"read_history": func(merchant uuid.UUID) string {
			return fmt.Sprintf("EXECUTE read_history ('%s', '%s', 0, 101)", first, merchant)
		},
		"refund_view": func(merchant uuid.UUID) string {
			return fmt.Sprintf("EXECUTE refund_view ('%s', '%s')", refund, merchant)
		},
	}
	_, err = conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan")
	require.NoError(t, err)
	for name, run := range execute {
		statement, err := os.ReadFile(name + ".sql")
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "PREPARE "+name+" AS "+string(statement))
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), run(uuid.Nil))
		require.NoError(t, err)
	}
	merchant := b.fill(60_000)
	_, err = b.Owner.Exec(t.Context(), `ALTER TABLE operation DISABLE TRIGGER USER;
		INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, state, refund_reference,
			target_object_id, trace_parent, correlation_id, idempotency_key)
		SELECT '0190a1b2-c3d4-7000-9000-000000000001', id, 'refund', 'card', 1, 'TRY', 'created', 'R-1', 'pi_1', 't', 'c', 'k'
		FROM payment WHERE invoice_id = 'INV-1' LIMIT 1`)
	require.NoError(t, err)
	for name, run := range execute {
		most := 40
		if name == "view" {
			most = 64 * 10 // two trees of up to four levels, and the rows
		}
		requireCost(t, conn, run(merchant), most, name)
	}
}
