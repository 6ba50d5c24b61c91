package evidence

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// ReasonStatement marks evidence that is a person's word.
const ReasonStatement = "operator-statement"

// Statement is a person's word about an operation, who looked at the provider's own
// pages or asked there.
type Statement struct {
	OperationID      uuid.UUID
	Verdict          payment.Verdict // captured, or not taken: nothing is held and nothing will be
	Amount           money.Amount    // what was captured
	ProviderObjectID string          // the movement that was captured
	Who              string          // up to 200 characters
	Reason           string          // in the person's own words, up to 2000 characters
	AskedAt          time.Time       // database clock
}

//go:embed statement.sql
var statementSQL string

// Evidence is what the statement proves. A "not taken" covers every attempt that was
// over when it was said.
func (s Statement) Evidence() (Evidence, error) {
	said, err := s.words()
	if err != nil {
		return Evidence{}, err
	}
	e := Evidence{
		OperationID: s.OperationID, Source: Operator, Verdict: s.Verdict, Amount: s.Amount, ProviderObjectID: s.ProviderObjectID,
		Reason: ReasonStatement, AskedAt: s.AskedAt, Hash: sha256.Sum256(said),
	}
	if s.Verdict == payment.VerdictNotTaken {
		e.CoversUntil = s.AskedAt
	}
	return e, nil
}

// Keep stores the statement word for word. It comes after the evidence was applied, in
// the same transaction: before that, the caller would hold the operation's row ahead
// of its payment's.
func (s Statement) Keep(ctx context.Context, tx pgx.Tx) error {
	said, err := s.words()
	if err != nil {
		return err
	}
	hash := sha256.Sum256(said)
	if _, err := tx.Exec(ctx, statementSQL, hash[:], s.OperationID, s.Who, s.Reason, said); err != nil {
		return fmt.Errorf("keeping a statement about operation %s: %w", s.OperationID, err)
	}
	return nil
}

// words are what is hashed, in the order of the fields.
func (s Statement) words() ([]byte, error) {
	amount := ""
	if !s.Amount.IsZero() {
		amount = s.Amount.String()
	}
	said, err := json.Marshal(struct {
		Operation uuid.UUID `json:"operation"`
		Verdict   string    `json:"verdict"`
		Amount    string    `json:"amount,omitempty"`
		Object    string    `json:"providerObjectId,omitempty"`
		Who       string    `json:"who"`
		Reason    string    `json:"reason"`
		AskedAt   time.Time `json:"askedAt"`
	}{s.OperationID, s.Verdict.String(), amount, s.ProviderObjectID, s.Who, s.Reason, s.AskedAt.UTC()})
	if err != nil {
		return nil, fmt.Errorf("rendering a statement about operation %s: %w", s.OperationID, err)
	}
	return said, nil
}
