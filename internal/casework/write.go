package casework

import (
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
)

//go:embed open.sql
var openSQL string

//go:embed record.sql
var recordSQL string

//go:embed move.sql
var moveSQL string

// Move takes a case from where it was read to where it shall be.
type Move struct {
	From   Case
	To     Standing // but for the version, which is the next one
	By     Actor
	Reason string // a stable code, or a person's own words
}

// After returns the case as it is once the move is made.
func (m Move) After() Case {
	after := m.From
	after.Standing = m.To
	after.Version = m.From.Version + 1
	after.MovedBy = m.By.Owner
	return after
}

// QueueOpen adds the statements that open a case to a batch, with what told of it
// as the reason. Evidence and the move of its charge must be written before. What is
// suspended must be booked in the same transaction, or its commit fails.
func QueueOpen(batch *pgx.Batch, c Case, reason string) {
	batch.Queue(openSQL, c.ID, c.PaymentID, c.OperationID, string(c.Kind), c.ProviderAccount, c.ProviderObjectID,
		postgres.Minor(c.Amount), postgres.Given(string(c.Amount.Currency())), c.Suspended, string(c.Plan), string(c.WaitsFor))
	queueRecord(batch, Move{From: Case{ID: c.ID}, To: c.Standing, By: Machine, Reason: reason})
}

// QueueMove adds the statements that move a case to a batch. What proves the move
// must be written before; postings of the case follow it. When the batch runs, a case
// that is not where it was read ends it with ErrMoved, and a move that nothing proves
// ends it with the database's refusal.
func QueueMove(batch *pgx.Batch, m Move) {
	queueRecord(batch, m)
	batch.Queue(moveSQL, m.From.ID, m.From.Version, string(m.To.State), string(m.To.Plan), postgres.Given(string(m.To.Resolution)),
		string(m.To.WaitsFor), m.To.ProviderObjectID, m.To.State == Open && m.To.WaitsFor == operation.Machine,
	).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != 1 {
			return fmt.Errorf("moving case %s: %w", m.From.ID, ErrMoved)
		}
		return nil
	})
}

// queueRecord appends to the history first: the move's guard looks for its line.
func queueRecord(batch *pgx.Batch, m Move) {
	batch.Queue(recordSQL, m.From.ID, m.After().Version, postgres.Given(string(m.From.State)), string(m.To.State),
		string(m.To.Plan), string(m.By.Owner), m.By.Name, m.Reason)
}
