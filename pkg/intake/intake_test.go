package intake_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/intake"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func TestI1_APaymentExistsIfAndOnlyIfTheCallersTransactionCommits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	changedItsMind := errors.New("the shop changed its mind")
	err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO sale (id) VALUES ('S-1')")
		require.NoError(t, err)
		result, err := s.intake.Submit(t.Context(), tx, s.command(t, "k-1", "INV-1"))
		require.NoError(t, err)
		require.Equal(t, payment.StateCreated, result.Payment.State)
		return changedItsMind
	})
	require.ErrorIs(t, err, changedItsMind)
	for _, table := range []string{"shop.sale", "public.payment", "operation", "idempotency_key", "invoice_identity", "outbox"} {
		require.Zero(t, s.count(t, table), table)
	}

	result, err := s.sell(t, "S-1", s.command(t, "k-1", "INV-1"))
	require.NoError(t, err)
	require.False(t, result.Replayed, "the key is as new")
	for _, table := range []string{"shop.sale", "public.payment", "operation", "idempotency_key", "invoice_identity", "outbox"} {
		require.Equal(t, 1, s.count(t, table), table)
	}
	require.Zero(t, s.count(t, "shop.payment"), "a table of the shop's own with this name")
}

func TestI1_I7_AKeyOfTheLibraryIsTheKeyOfHTTP(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	door, _ := s.serve(t)
	first, err := s.sell(t, "S-1", s.command(t, "k-1", "INV-1"))
	require.NoError(t, err)
	require.Equal(t, answered{http.StatusAccepted, true, string(first.Body)}, s.post(t, door, "k-1", "INV-1"))

	second := s.post(t, door, "k-2", "INV-2")
	require.Equal(t, http.StatusAccepted, second.status)
	repeat, err := s.sell(t, "S-2", s.command(t, "k-2", "INV-2"))
	require.NoError(t, err)
	require.True(t, repeat.Replayed)
	require.Equal(t, second.body, string(repeat.Body))
	require.Equal(t, 2, s.count(t, "public.payment"))
}

func TestP6_AFinalPaymentIsAnsweredWithItsStoredBytes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	door, _ := s.serve(t)
	first, err := s.sell(t, "S-1", s.command(t, "k-1", "INV-1"))
	require.NoError(t, err)
	settle.Charge(t, s.App, first.Payment, payment.VerdictCaptured)
	repeat, err := s.sell(t, "S-2", s.command(t, "k-1", "INV-1"))
	require.NoError(t, err)
	require.True(t, repeat.Replayed)
	require.Equal(t, payment.StateCaptured, repeat.Payment.State)
	require.Equal(t, answered{http.StatusCreated, true, string(repeat.Body)}, s.post(t, door, "k-1", "INV-1"))
}

func TestI5_I9_I12_ARefusedCommandLeavesTheTransactionUsable(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first, err := s.sell(t, "S-1", s.command(t, "k-1", "INV-1"))
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		other := s.command(t, "k-1", "INV-1")
		other.Customer = "cus_1"
		_, err := s.intake.Submit(t.Context(), tx, other)
		var mismatched *intake.MismatchedError
		require.ErrorAs(t, err, &mismatched)
		require.Equal(t, []string{"customer"}, mismatched.Differing)

		_, err = s.intake.Submit(t.Context(), tx, s.command(t, "k-2", "INV-1"))
		var conflict *intake.ConflictError
		require.ErrorAs(t, err, &conflict)
		require.Equal(t, "invoiceId", conflict.Field)
		require.Equal(t, first.Payment.ID, conflict.Payment.ID)

		broken := s.command(t, "", "INV-1")
		_, err = s.intake.Submit(t.Context(), tx, broken)
		var invalid *intake.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, []intake.FieldError{{Field: intake.FieldIdempotencyKey, Problem: "is required and not empty"}}, invalid.Fields)
		_, err = s.intake.Submit(t.Context(), tx, s.command(t, `"k-3"`, "INV-1"))
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, []intake.FieldError{{Field: intake.FieldIdempotencyKey, Problem: "must not begin with a quote"}}, invalid.Fields)

		broken = s.command(t, "k-3", "INV 3 ")
		broken.Amount, broken.ChargeBefore = money.Amount{}, time.Now().Add(time.Hour)
		_, err = s.intake.Submit(t.Context(), tx, broken)
		require.ErrorAs(t, err, &invalid)
		require.Len(t, invalid.Fields, 3, "invoiceId, amount and currency")

		_, err = s.intake.Submit(t.Context(), tx, s.command(t, "01890a5d-ac96-774b-bcce-b302099a8057", "INV-4")) // of 2023
		require.ErrorIs(t, err, intake.ErrExpired)

		_, err = tx.Exec(t.Context(), "INSERT INTO sale (id) VALUES ('S-2')")
		return err
	}))
	require.Equal(t, 2, s.count(t, "shop.sale"))
	require.Equal(t, 1, s.count(t, "public.payment"))
	require.Equal(t, 1, s.count(t, "idempotency_key"), "a refused command leaves no key")
}

func TestI19_AKeyThatLooksLikeACardIsNamedAsTheCallerKnowsIt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, err := s.Owner.Exec(t.Context(), "UPDATE merchant SET checks_identifiers = true WHERE id = $1", s.merchant)
	require.NoError(t, err)
	_, err = s.sell(t, "S-1", s.command(t, "4242424242424242", "INV-1"))
	var invalid *intake.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, intake.FieldIdempotencyKey, invalid.Fields[0].Field)
}

func TestI1_WhatTheCallerCannotHaveIsSaid(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	unknown := s.command(t, "k-1", "INV-1")
	unknown.MerchantID = uuid.New()
	_, err := s.sell(t, "S-1", unknown)
	require.ErrorIs(t, err, intake.ErrUnknownMerchant)

	err = pgx.BeginTxFunc(t.Context(), s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		_, err := s.intake.Submit(t.Context(), tx, s.command(t, "k-1", "INV-1"))
		return err
	})
	require.ErrorIs(t, err, intake.ErrIsolation)

	_, err = intake.New(intake.Config{Accounts: map[string]string{"card": "strype"}})
	require.ErrorContains(t, err, `"strype" is no connector`)
	for window, allowed := range map[time.Duration]bool{
		0: true, 24 * time.Hour: true, 72 * time.Hour: true, 23 * time.Hour: false, 73 * time.Hour: false, -time.Hour: false,
	} {
		_, err = intake.New(intake.Config{KeyWindow: window})
		require.Equal(t, allowed, err == nil, "%s: %v", window, err)
	}
}

func TestI1_TheCallersSettingsArePutBack(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SET LOCAL lock_timeout = '7s'; SET LOCAL enable_hashjoin = on")
		require.NoError(t, err)
		_, err = s.intake.Submit(t.Context(), tx, s.command(t, "k-1", "INV-1"))
		require.NoError(t, err)
		var wait, path, scan string
		require.NoError(t, tx.QueryRow(t.Context(),
			"SELECT current_setting('lock_timeout'), current_setting('search_path'), current_setting('enable_seqscan')").Scan(&wait, &path, &scan))
		require.Equal(t, []string{"7s", "shop, public", "on"}, []string{wait, path, scan})
		return nil
	}))
}

// A caller keeps its transaction open. Who asks for its key is told to come back, and
// those who are in the same group are answered meanwhile.
func TestI4_AHeldKeyHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	door, _ := s.serve(t)
	held, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	first, err := s.intake.Submit(t.Context(), held, s.command(t, "k-held", "INV-held"))
	require.NoError(t, err)

	const neighbours = 20
	var requests sync.WaitGroup
	statuses := make(chan int, neighbours)
	turnedAway := make(chan answered, 1)
	requests.Go(func() { turnedAway <- s.post(t, door, "k-held", "INV-held") })
	for i := range neighbours {
		requests.Go(func() { statuses <- s.post(t, door, "k-"+string(rune('a'+i)), "INV-"+string(rune('a'+i))).status })
	}
	for range neighbours {
		require.Equal(t, http.StatusAccepted, <-statuses)
	}
	require.Equal(t, http.StatusConflict, (<-turnedAway).status)
	requests.Wait()

	_, err = s.sell(t, "S-2", s.command(t, "k-held", "INV-held"))
	require.ErrorIs(t, err, intake.ErrBusy)
	require.NoError(t, held.Commit(t.Context()))
	require.Equal(t, answered{http.StatusAccepted, true, string(first.Body)}, s.post(t, door, "k-held", "INV-held"))
}
