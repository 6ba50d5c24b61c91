package outcome

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// readFiles reads the cases of locked operations, once they are locked: whoever moves
// a case holds its payment. Nearly always there is none.
func readFiles(ctx context.Context, tx pgx.Tx, rows []operation.Locked, byID map[uuid.UUID]*known) error {
	var charges, served []uuid.UUID
	for _, r := range rows {
		if r.CaseID != nil {
			served = append(served, *r.CaseID)
		} else {
			charges = append(charges, r.ID)
		}
	}
	cases, err := casework.OfOperations(ctx, tx, charges, served)
	if err != nil || len(cases) == 0 {
		return err
	}
	ids := make([]uuid.UUID, len(cases))
	for i, c := range cases {
		ids[i] = c.ID
	}
	compensations, err := operation.Compensations(ctx, tx, ids)
	if err != nil {
		return err
	}
	for _, c := range cases {
		f := &file{Case: c, compensations: compensations[c.ID]}
		if k, ok := byID[c.OperationID]; ok {
			k.files = append(k.files, f)
		}
		for _, r := range rows {
			if r.CaseID != nil && *r.CaseID == c.ID {
				byID[r.ID].files, byID[r.ID].charge = []*file{f}, byID[c.OperationID]
			}
		}
	}
	return nil
}

// readAnothers finds out which of the movements that the provider names, now or before,
// cannot be those of the refunds that it names them for.
func readAnothers(ctx context.Context, tx pgx.Tx, byID map[uuid.UUID]*known, movements []string) error {
	var refunds []uuid.UUID
	for id, k := range byID {
		if k.row.Kind != payment.KindRefund {
			continue
		}
		refunds = append(refunds, id)
		for _, e := range k.evidence {
			movements = append(movements, e.ProviderObjectID)
		}
		if k.row.ProviderObjectID != nil {
			movements = append(movements, *k.row.ProviderObjectID)
		}
	}
	anothers, err := operation.Anothers(ctx, tx, refunds, movements)
	for id, taken := range anothers {
		byID[id].anothers = taken
	}
	return err
}

// caseWrite is one case that opens, or one move of a case.
type caseWrite struct {
	opens bool
	move  casework.Move
}

func (c caseWrite) queue(batch *pgx.Batch) {
	if c.opens {
		casework.QueueOpen(batch, c.move.From, c.move.Reason)
		return
	}
	casework.QueueMove(batch, c.move)
}

// follow adds what happens to cases to what is written, and what is booked with it.
// A case that opens gets its id here.
func (w *writes) follow(k *known, steps []step) error {
	for _, s := range steps {
		if s.opens {
			id, err := uuid.NewV7()
			if err != nil {
				return fmt.Errorf("naming a case: %w", err)
			}
			s.file.ID = id
		}
		s.from.ID = s.file.ID
		c := caseWrite{opens: s.opens, move: casework.Move{From: s.from, To: s.to, By: casework.Machine, Reason: s.reason}}
		w.cases = append(w.cases, c)
		held := s.file.Held()
		switch s.books {
		case ledger.Suspension:
			w.postings = append(w.postings, held.Suspend())
		case ledger.Adoption:
			w.postings = append(w.postings, held.Adopt(k.row.MerchantID))
		case ledger.Reversal:
			w.postings = append(w.postings, held.Reverse())
		case ledger.Movement:
			w.postings = append(w.postings, held.GiveBack(s.by))
		}
	}
	return nil
}
