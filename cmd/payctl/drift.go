package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/app"
)

type driftCommand struct {
	Scan    driftScan    `cmd:"" help:"Hold a window of the provider's list against our operations. The reconciler does so by itself (PAYONCE_DRIFT_INTERVAL)."`
	List    driftList    `cmd:"" help:"List differences that no rule may settle, the oldest first."`
	Explain driftExplain `cmd:"" help:"Close a difference that you have an explanation for. No money moves."`
}

type driftScan struct {
	Account string    `required:"" placeholder:"ACCOUNT" help:"The provider account."`
	From    time.Time `required:"" placeholder:"TIME" help:"Operations that were accepted at or after this moment, such as 2026-01-31T00:00:00Z."`
	To      time.Time `required:"" placeholder:"TIME" help:"… and before this one."`
	Execute bool      `help:"Scan. Without it nothing is listed and nothing changes."`
	format
}

// Run implements the command.
func (c driftScan) Run(ctx context.Context, t terminal) error {
	scan, err := app.ScanDrift(ctx, t.environ, app.DriftWindow{Account: c.Account, From: c.From, To: c.To, Execute: c.Execute})
	if err != nil {
		if scan.Executed {
			err = fmt.Errorf("it stopped after %d pages and goes on when it is repeated: %w", scan.Pages, err)
		}
		return err
	}
	return c.tell(t, scan, func() { writeScan(t, scan) })
}

func writeScan(t terminal, s app.DriftScan) {
	fmt.Fprintf(t.out, "%s (%s at the provider), scanned without a gap until %s\n", s.Account, s.Identity, s.ScannedUntil.Format(time.RFC3339))
	if s.Executed {
		fmt.Fprintf(t.out, "done: %d movements on %d pages; %d became evidence, %d operations were asked about, %d findings are new\n",
			s.Listed, s.Pages, s.Told, s.Asked, s.Found)
		return
	}
	if s.Resumes != "" {
		fmt.Fprintf(t.out, "goes on with scan %s\n", s.Resumes)
	}
	fmt.Fprintf(t.out, "would read the provider's list from %s to %s and compare %d operations that have succeeded;\n"+
		"what differs becomes evidence, with the cases that follow, or a finding\n%s\n",
		s.ListFrom.Format(time.RFC3339), s.ListTo.Format(time.RFC3339), s.Operations, rehearsed)
}

type driftList struct {
	Account   string    `placeholder:"ACCOUNT" help:"Of one provider account."`
	Explained bool      `help:"Explained ones, too."`
	After     uuid.UUID `placeholder:"CURSOR" help:"The next page: the cursor that the page before ended with."`
	format
}

// Run implements the command.
func (c driftList) Run(ctx context.Context, t terminal) error {
	page, err := app.ListDrift(ctx, t.environ, app.DriftFilter{Account: c.Account, Explained: c.Explained, After: c.After})
	if err != nil {
		return err
	}
	return c.tell(t, page, func() { writeFindings(t, page) })
}

func writeFindings(t terminal, page app.DriftPage) {
	if len(page.Findings) == 0 {
		fmt.Fprintln(t.out, "no findings")
		return
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FINDING\tKIND\tACCOUNT\tMOVEMENT\tOBJECT\tREFERENCE\tAMOUNT\tVERDICT\tCREATED\tSEEN\tEXPLAINED")
	for _, f := range page.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.ID, f.Kind, f.Account, f.Movement, orDash(f.Object),
			orDash(f.Reference), orDash(f.Amount), f.Verdict, shown(f.CreatedAt), f.SeenAt.Format(time.RFC3339), orDash(f.Reason))
	}
	_ = table.Flush() // writing to a terminal
	tellMore(t, page.Next)
}

type driftExplain struct {
	Finding uuid.UUID `arg:"" help:"The finding."`
	decision
}

// Run implements the command.
func (c driftExplain) Run(ctx context.Context, t terminal) error {
	operator, err := c.operator()
	if err != nil {
		return err
	}
	if err := app.ExplainDrift(ctx, t.environ, c.Finding, operator); err != nil {
		return err
	}
	told := struct {
		Finding  uuid.UUID `json:"finding"`
		Executed bool      `json:"executed"`
	}{c.Finding, operator.Execute}
	return c.tell(t, told, func() { tellEffect(t, "close finding "+c.Finding.String()+"; no money moves", operator.Execute) })
}
