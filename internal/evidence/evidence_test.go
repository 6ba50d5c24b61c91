package evidence_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// claimed is an operation with one attempt, which an answer needs.
func claimed(t testing.TB, pool *pgxpool.Pool) operation.NewPayment {
	t.Helper()
	p := fixture.Accept(t, pool)
	claim := operation.Claim{
		Worker: "worker", Lease: time.Minute, Served: []operation.Served{{Account: fixture.Account, Recipe: "recipe/1"}},
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := claim.Claim(t.Context(), tx, []uuid.UUID{p.OperationID})
		return err
	}))
	return p
}

func store(t testing.TB, pool *pgxpool.Pool, learned ...evidence.Evidence) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var batch pgx.Batch
		evidence.Queue(&batch, learned)
		return tx.SendBatch(t.Context(), &batch).Close()
	})
}

func read(t testing.TB, pool *pgxpool.Pool, operations ...uuid.UUID) map[uuid.UUID][]evidence.Evidence {
	t.Helper()
	var known map[uuid.UUID][]evidence.Evidence
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) (err error) {
		known, err = evidence.ForOperations(t.Context(), tx, operations)
		return err
	}))
	for _, learned := range known {
		for i := range learned {
			learned[i].AskedAt = learned[i].AskedAt.UTC()
			if !learned[i].CoversUntil.IsZero() {
				learned[i].CoversUntil = learned[i].CoversUntil.UTC()
			}
		}
	}
	return known
}

var asked = time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)

func learned(p operation.NewPayment, source evidence.Source, verdict payment.Verdict) evidence.Evidence {
	return evidence.Evidence{
		ID: uuid.Must(uuid.NewV7()), OperationID: p.OperationID, Source: source, Verdict: verdict, AskedAt: asked,
		Hash: sha256.Sum256([]byte("raw")),
	}
}

func TestU5_EvidenceIsReadAsItWasStoredOldestFirst(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"statement cache": "", "R7 through a transaction pooler": "&default_query_exec_mode=exec"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, err := postgres.Open(t.Context(), testkit.NewDatabase(t).AppURL+mode, postgres.PoolOptions{})
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			p, q := claimed(t, pool), claimed(t, pool)
			yen, err := money.New(0, "JPY")
			require.NoError(t, err)

			full := learned(p, evidence.Answer, payment.VerdictDeclined)
			full.Fence, full.CoversEarlier, full.Amount, full.ProviderObjectID = 1, true, yen, "ch_1"
			full.Status, full.Reason = 402, "insufficient-funds"
			bare := learned(p, evidence.Inquiry, payment.VerdictUnclear)
			covering := learned(p, evidence.Closure, payment.VerdictNotTaken)
			covering.CoversUntil = asked.Add(-time.Second)
			other := learned(q, evidence.Operator, payment.VerdictPending)
			require.NoError(t, store(t, pool, bare, other))
			require.NoError(t, store(t, pool, full))
			require.NoError(t, store(t, pool, covering))

			want := []evidence.Evidence{bare, full, covering}
			for i := range want { // kept for people, not for decisions
				want[i].Hash, want[i].Status = [32]byte{}, 0
			}
			known := read(t, pool, p.OperationID, uuid.New())
			require.Equal(t, map[uuid.UUID][]evidence.Evidence{p.OperationID: want}, known)

			var status int
			var hash []byte
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT status, hash FROM evidence WHERE id = $1", full.ID).Scan(&status, &hash))
			require.Equal(t, 402, status)
			require.Equal(t, full.Hash[:], hash)
		})
	}
}

func TestU5_EvidenceThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	pool := testkit.NewDatabase(t).App
	p := claimed(t, pool)
	answer := func(v payment.Verdict) evidence.Evidence {
		e := learned(p, evidence.Answer, v)
		e.Fence = 1
		return e
	}
	for constraint, change := range map[string]func() evidence.Evidence{
		"an_answer_belongs_to_an_attempt": func() evidence.Evidence { return learned(p, evidence.Answer, payment.VerdictUnclear) },
		"an_answer_covers_by_its_attempt": func() evidence.Evidence {
			e := answer(payment.VerdictDeclined)
			e.CoversUntil = asked
			return e
		},
		"only_a_no_covers": func() evidence.Evidence {
			e := learned(p, evidence.Inquiry, payment.VerdictPending)
			e.CoversUntil = asked
			return e
		},
		"only_a_decline_covers_earlier_attempts": func() evidence.Evidence {
			e := answer(payment.VerdictNotTaken)
			e.CoversEarlier = true
			return e
		},
		"a_webhook_never_covers": func() evidence.Evidence {
			e := learned(p, evidence.Webhook, payment.VerdictDeclined)
			e.CoversUntil = asked
			return e
		},
		"cover_lies_before_the_question": func() evidence.Evidence {
			e := learned(p, evidence.Inquiry, payment.VerdictNotTaken)
			e.CoversUntil = asked.Add(time.Microsecond)
			return e
		},
		"evidence_operation_id_fkey": func() evidence.Evidence {
			return learned(operation.NewPayment{OperationID: uuid.New()}, evidence.Inquiry, payment.VerdictUnclear)
		},
	} {
		var refused *pgconn.PgError
		require.ErrorAs(t, store(t, pool, change()), &refused, constraint)
		require.Equal(t, constraint, refused.ConstraintName)
	}
	require.Empty(t, read(t, pool, p.OperationID))
}
