package reconcile_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// doorkeeper finds money behind the door that it is to close.
type doorkeeper struct {
	provider.Connector

	finds money.Amount
}

func (d doorkeeper) CloseDoor(context.Context, provider.Operation) provider.Answer {
	hash := sha256.Sum256([]byte("captured"))
	return provider.Answer{Verdict: payment.VerdictCaptured, Amount: d.finds, ObjectID: "ch_1", Hash: hash[:]}
}

func TestU7_AContradictionBehindAClosedDoorIsLoggedAsEveryOther(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Faults: steps(t, "too_many")})
	p := fixture.Accept(t, r.DB.App, fixture.ChargeBefore(time.Now().Add(time.Minute)))
	r.DueNow(p)
	_, err := dueOnce(t, r)
	require.NoError(t, err)

	less, err := money.New(p.Amount.Minor()-1, p.Amount.Currency())
	require.NoError(t, err)
	seen, logs := observer.New(zapcore.ErrorLevel)
	r.Reconciler.Log = zap.New(seen)
	r.Reconciler.Accounts = map[string]provider.Connector{fixture.Account: doorkeeper{r.Connector, less}}
	r.DB.SetNow(t, time.Hour)
	_, err = r.Reconciler.Expire(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM payment_case WHERE kind = 'amount_mismatch'"))
	require.Equal(t, 1, logs.FilterMessage(outcome.ContradictionMessage).Len())
}

// nameless does not say which account our credentials open.
type nameless struct{ provider.Connector }

func (nameless) Identify(context.Context) error { return errors.New("not now") }

func TestU6_ADoorThatCannotBeClosedNowIsPutOff(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Faults: steps(t, "too_many")})
	p := fixture.Accept(t, r.DB.App, fixture.ChargeBefore(time.Now().Add(time.Minute)))
	r.DueNow(p)
	_, err := dueOnce(t, r)
	require.NoError(t, err)
	r.Reconciler.Accounts = map[string]provider.Connector{fixture.Account: nameless{r.Connector}}
	r.DB.SetNow(t, time.Hour)
	_, err = r.Reconciler.Expire(t.Context())
	require.ErrorContains(t, err, "not now")
	require.Equal(t, 1, r.Count("SELECT count(*) FROM operation WHERE state = 'created' AND next_check_at > payonce_now() AND waits_for = 'machine'"))
}
