package app

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Case is a contradiction between the provider's word and ours.
type Case struct {
	ID          uuid.UUID  `json:"id"`
	PaymentID   uuid.UUID  `json:"paymentId"`
	OperationID uuid.UUID  `json:"operationId"`
	Kind        string     `json:"kind"`
	Account     string     `json:"account"`
	Object      string     `json:"providerObjectId,omitempty"`
	Amount      string     `json:"amount,omitempty"` // with its currency; what the provider said
	Suspended   bool       `json:"suspended"`
	State       string     `json:"state"`
	Plan        string     `json:"plan"`
	Resolution  string     `json:"resolution,omitempty"`
	Owner       string     `json:"owner"`
	Version     int64      `json:"version"`
	NextStepAt  *time.Time `json:"nextStepAt,omitempty"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
}

// CaseDetail is a case with its history and all that is known about its charge.
type CaseDetail struct {
	Case
	History       []CaseLine         `json:"history"`
	Compensations []CaseCompensation `json:"compensations"`
	Evidence      []CaseEvidence     `json:"evidence"`
}

// CaseLine is one move of a case.
type CaseLine struct {
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	From    string    `json:"from,omitempty"`
	To      string    `json:"to"`
	Plan    string    `json:"plan"`
	Actor   string    `json:"actor"`
	Who     string    `json:"who"`
	Reason  string    `json:"reason"`
}

// CaseCompensation is a refund or void that gives a case's money back.
type CaseCompensation struct {
	OperationID uuid.UUID `json:"operationId"`
	Kind        string    `json:"kind"`
	State       string    `json:"state"`
}

// CaseEvidence is one thing that was learned about a case's charge.
type CaseEvidence struct {
	AskedAt time.Time `json:"askedAt"`
	Source  string    `json:"source"`
	Verdict string    `json:"verdict"`
	Amount  string    `json:"amount,omitempty"`
	Object  string    `json:"providerObjectId,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// CasePage is one page of cases. Next, if given, is the cursor of the next one.
type CasePage struct {
	Cases []Case `json:"cases"`
	Next  string `json:"next,omitempty"`
}

// CaseFilter chooses cases.
type CaseFilter struct {
	Closed    bool // closed ones too
	Account   string
	PaymentID uuid.UUID
	Owner     string
	After     uuid.UUID
	Limit     int // of one page, up to casework.PageMax
}

// ListCases shows cases, the oldest first.
func ListCases(ctx context.Context, environ []string, f CaseFilter) (CasePage, error) {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return CasePage{}, err
	}
	defer d.close()
	found, err := casework.List(ctx, d.pool, casework.Filter{
		Closed: f.Closed, ProviderAccount: f.Account, PaymentID: f.PaymentID, WaitsFor: operation.Owner(f.Owner), After: f.After, Limit: f.Limit,
	})
	if err != nil {
		return CasePage{}, err
	}
	page := CasePage{Cases: []Case{}}
	for _, c := range found {
		page.Cases = append(page.Cases, shownCase(c))
	}
	if len(found) > 0 && len(found) == f.Limit {
		page.Next = found[len(found)-1].ID.String()
	}
	return page, nil
}

// ShowCase shows one case with all that happened to it.
func ShowCase(ctx context.Context, environ []string, id uuid.UUID) (CaseDetail, error) {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return CaseDetail{}, err
	}
	defer d.close()
	var shown CaseDetail
	err = d.within(ctx, false, func(tx pgx.Tx) error {
		detail, err := casework.Get(ctx, tx, id)
		if err != nil {
			return err
		}
		learned, err := evidence.ForOperations(ctx, tx, []uuid.UUID{detail.OperationID})
		if err != nil {
			return err
		}
		shown = shownDetail(detail, learned[detail.OperationID])
		return nil
	})
	return shown, err
}

func shownCase(c casework.Case) Case {
	return Case{
		ID: c.ID, PaymentID: c.PaymentID, OperationID: c.OperationID, Kind: string(c.Kind), Account: c.ProviderAccount,
		Object: c.ProviderObjectID, Amount: shownAmount(c.Amount), Suspended: c.Suspended, State: string(c.State), Plan: string(c.Plan),
		Resolution: string(c.Resolution), Owner: string(c.WaitsFor), Version: c.Version, NextStepAt: inUTC(c.NextStepAt),
		CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
}

func shownDetail(d casework.Detail, learned []evidence.Evidence) CaseDetail {
	shown := CaseDetail{Case: shownCase(d.Case), History: []CaseLine{}, Compensations: []CaseCompensation{}, Evidence: []CaseEvidence{}}
	for _, l := range d.History {
		shown.History = append(shown.History, CaseLine{
			Version: l.Version, At: l.At.UTC(), From: string(l.From), To: string(l.To), Plan: string(l.Plan),
			Actor: string(l.By.Owner), Who: l.By.Name, Reason: l.Reason,
		})
	}
	for _, c := range d.Compensations {
		shown.Compensations = append(shown.Compensations, CaseCompensation{OperationID: c.OperationID, Kind: string(c.Kind), State: string(c.State)})
	}
	for _, e := range learned {
		shown.Evidence = append(shown.Evidence, CaseEvidence{
			AskedAt: e.AskedAt.UTC(), Source: string(e.Source), Verdict: e.Verdict.String(), Amount: shownAmount(e.Amount),
			Object: e.ProviderObjectID, Reason: e.Reason,
		})
	}
	return shown
}

// CaseDecision is what a person decides about a case.
type CaseDecision struct {
	Operator
	CaseID uuid.UUID
	As     string // refund, adopt or dismiss
	// Version is the one that the person saw. Only a rehearsal may leave it out, with 0:
	// it shows the case as it stands now.
	Version int64
}

// CaseDecided says what a decision did, or would do, and how the case stands then.
type CaseDecided struct {
	Case     Case   `json:"case"`
	Seen     int64  `json:"seenVersion"` // the version that was decided about
	Effect   string `json:"effect"`
	Executed bool   `json:"executed"`
}

// ResolveCase decides about a case. What does not fit the case, or a case that is not
// open or has moved since the version that was seen, is an error of casework.
func ResolveCase(ctx context.Context, environ []string, c CaseDecision) (CaseDecided, error) {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return CaseDecided{}, err
	}
	defer d.close()
	decided := CaseDecided{Executed: c.Execute}
	err = d.within(ctx, c.Execute, func(tx pgx.Tx) error {
		seen, err := casework.Get(ctx, tx, c.CaseID)
		if err != nil {
			return err
		}
		if c.Version == 0 && !c.Execute {
			c.Version = seen.Version
		}
		after, err := casework.Decide(ctx, tx, c.CaseID, casework.Decision{
			Action: casework.Action(c.As), Version: c.Version, Who: c.By, Reason: c.Reason,
		})
		if err != nil {
			return err
		}
		decided.Case, decided.Seen, decided.Effect = shownCase(after), c.Version, effectOn(after, casework.Action(c.As))
		return nil
	})
	return decided, err
}

// effectOn says what follows from a decision. What is ordered is carried out by the
// reconciler, which finds out how the provider gives money back.
func effectOn(c casework.Case, as casework.Action) string {
	switch as {
	case casework.Refund:
		return fmt.Sprintf("order a refund of %s at %s, object %s (a void, where the provider cannot refund)", c.Amount, c.ProviderAccount, c.ProviderObjectID)
	case casework.Adopt:
		if c.Of == payment.KindRefund {
			return fmt.Sprintf("let the refund of %s of payment %s at %s have taken place, as long as the payment has room for it",
				c.Amount, c.PaymentID, c.ProviderAccount)
		}
		return fmt.Sprintf("let payment %s be captured with %s at %s, as long as no other live payment holds its invoice; else give it back",
			c.PaymentID, c.Amount, c.ProviderAccount)
	case casework.Dismiss:
	}
	if !c.Suspended {
		return "close the case; no money moves, here or at the provider"
	}
	return fmt.Sprintf("close the case and book %s from suspense back to the clearing of %s; no money moves at the provider", c.Amount, c.ProviderAccount)
}

func shownAmount(a money.Amount) string {
	if a.IsZero() {
		return ""
	}
	return a.String()
}
