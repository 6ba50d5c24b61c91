package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/drift"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/reconcile"
)

// driftConnsMax serves a scan, its applier's committers and its questions.
const driftConnsMax = 6

// DriftWindow is what somebody wants to have scanned: operations that were accepted
// in [From, To).
type DriftWindow struct {
	Account  string
	From, To time.Time
	Execute  bool // scan it, instead of saying what would be done
}

// DriftScan says what a scan would do, or did.
type DriftScan struct {
	Account      string     `json:"account"`
	Identity     string     `json:"identity"` // the provider's own name of the account
	From         time.Time  `json:"from"`
	To           time.Time  `json:"to"`
	ListFrom     time.Time  `json:"listFrom"`
	ListTo       time.Time  `json:"listTo"`
	Operations   int        `json:"operations"` // of ours that succeeded, counted up to drift.CountMax
	ScannedUntil time.Time  `json:"scannedUntil"`
	Resumes      string     `json:"resumes,omitempty"` // a scan of this window that was begun
	Executed     bool       `json:"executed"`
	Pages        int        `json:"pages"`
	Listed       int64      `json:"listed"`
	Told         int64      `json:"told"`
	Asked        int64      `json:"asked"`
	Found        int64      `json:"found"`
	FinishedAt   *time.Time `json:"finishedAt,omitempty"`
}

// ScanDrift holds one window of a provider's list against our operations. A scan that
// was broken off goes on where it was. With an error, what is returned says how far it
// came.
func ScanDrift(ctx context.Context, environ []string, w DriftWindow) (DriftScan, error) {
	c, err := config.Load(environ, checkDrift)
	if err != nil {
		return DriftScan{}, err
	}
	pool, err := toolPool(ctx, c.DatabaseURL, driftConnsMax)
	if err != nil {
		return DriftScan{}, err
	}
	defer pool.Close()
	served, err := connect(c.Providers)
	if err != nil {
		return DriftScan{}, fmt.Errorf("PAYONCE_PROVIDER: %w", err)
	}
	defer served.close()
	publisher := publisher(c.Topics, c.Cell)
	applier := outcome.NewApplier(pool, publisher)
	asker := &reconcile.Reconciler{Pool: pool, Accounts: served, Publisher: publisher, Applier: applier, Log: zap.NewNop()}
	scanner := drift.Scanner{Pool: pool, Accounts: served, Applier: applier, Asker: asker, Log: zap.NewNop()}
	defer applying(ctx, applier)()
	return scanDrift(ctx, &scanner, w)
}

// applying runs an applier until the returned function is called.
func applying(ctx context.Context, applier *outcome.Applier) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { applier.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

func scanDrift(ctx context.Context, scanner *drift.Scanner, w DriftWindow) (DriftScan, error) {
	window := drift.Window{From: w.From, To: w.To}
	plan, err := scanner.Preview(ctx, w.Account, window)
	if errors.Is(err, drift.ErrTooRecent) || errors.Is(err, drift.ErrNoWindow) || errors.Is(err, drift.ErrNoList) {
		return DriftScan{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return DriftScan{}, err
	}
	shown := DriftScan{
		Account: plan.ProviderAccount, Identity: plan.Identity, From: plan.From.UTC(), To: plan.To.UTC(),
		ListFrom: plan.ListFrom.UTC(), ListTo: plan.ListTo.UTC(), Operations: plan.Operations, ScannedUntil: plan.ScannedUntil.UTC(),
	}
	if plan.Resumes != uuid.Nil {
		shown.Resumes = plan.Resumes.String()
	}
	if !w.Execute {
		return shown, nil
	}
	scan, err := scanner.Scan(ctx, w.Account, window)
	shown.Executed, shown.Pages, shown.Listed, shown.Told = true, scan.Pages, scan.Listed, scan.Told
	shown.Asked, shown.Found, shown.FinishedAt = scan.Asked, scan.Found, inUTC(scan.FinishedAt)
	return shown, err
}

func checkDrift(c config.DriftTool) []string {
	return checkReconciler(config.Reconciler{Providers: c.Providers})
}

// DriftFinding is a difference from a provider's list that no rule may settle.
type DriftFinding struct {
	ID          uuid.UUID  `json:"id"`
	Account     string     `json:"account"`
	Kind        string     `json:"kind"`
	Object      string     `json:"providerObjectId,omitempty"`
	Reference   string     `json:"reference,omitempty"`
	OperationID string     `json:"operationId,omitempty"`
	Movement    string     `json:"movement"`
	Verdict     string     `json:"verdict"`
	Amount      string     `json:"amount,omitempty"` // with its currency
	CreatedAt   *time.Time `json:"createdAt,omitempty"`
	SeenAt      time.Time  `json:"seenAt"`
	ExplainedBy string     `json:"explainedBy,omitempty"`
	Reason      string     `json:"reason,omitempty"`
}

// DriftPage is one page of findings. Next, if given, is the cursor of the next one.
type DriftPage struct {
	Findings []DriftFinding `json:"findings"`
	Next     string         `json:"next,omitempty"`
}

// DriftFilter chooses findings.
type DriftFilter struct {
	Account   string
	Explained bool // explained ones too
	After     uuid.UUID
}

// ListDrift shows findings, the oldest first.
func ListDrift(ctx context.Context, environ []string, f DriftFilter) (DriftPage, error) {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return DriftPage{}, err
	}
	defer d.close()
	found, err := drift.Findings(ctx, d.pool, drift.Filter{ProviderAccount: f.Account, Explained: f.Explained, After: f.After})
	if err != nil {
		return DriftPage{}, err
	}
	page := DriftPage{Findings: []DriftFinding{}}
	for _, found := range found {
		page.Findings = append(page.Findings, shownFinding(found))
	}
	if len(found) == drift.PageMax {
		page.Next = found[len(found)-1].ID.String()
	}
	return page, nil
}

func shownFinding(f drift.Finding) DriftFinding {
	shown := DriftFinding{
		ID: f.ID, Account: f.ProviderAccount, Kind: string(f.Kind), Object: f.ObjectID, Reference: f.Reference, Movement: string(f.Movement),
		Verdict: f.Verdict.String(), Amount: shownAmount(f.Amount), SeenAt: f.SeenAt.UTC(), ExplainedBy: f.ExplainedBy, Reason: f.Reason,
	}
	if f.OperationID != uuid.Nil {
		shown.OperationID = f.OperationID.String()
	}
	if !f.CreatedAt.IsZero() {
		shown.CreatedAt = new(f.CreatedAt.UTC())
	}
	return shown
}

// ExplainDrift closes a finding by a person's word. It moves no money. Error:
// drift.ErrNoFinding.
func ExplainDrift(ctx context.Context, environ []string, id uuid.UUID, o Operator) error {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return err
	}
	defer d.close()
	return d.within(ctx, o.Execute, func(tx pgx.Tx) error { return drift.Explain(ctx, tx, id, o.By, o.Reason) })
}
