package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/app"
)

type caseCommand struct {
	List    caseList    `cmd:"" help:"List what contradicts the books, the oldest first."`
	Show    caseShow    `cmd:"" help:"Show a case with its history, what gives its money back, and what is known of its charge."`
	Resolve caseResolve `cmd:"" help:"Decide about a case."`
}

type caseList struct {
	Account string    `placeholder:"ACCOUNT" help:"Of one provider account."`
	Payment uuid.UUID `placeholder:"PAYMENT" help:"Of one payment."`
	Owner   string    `enum:",machine,person" default:"" help:"Of what the machine or a person has to act on: machine or person."`
	Closed  bool      `help:"Closed ones, too."`
	After   uuid.UUID `placeholder:"CURSOR" help:"The next page: the cursor that the page before ended with."`
	Limit   int       `default:"100" help:"Of one page; at most 500."`
	format
}

// Run implements the command.
func (c caseList) Run(ctx context.Context, t terminal) error {
	if c.Limit < 1 || c.Limit > pageMax {
		return usageError{fmt.Errorf("--limit is 1 to %d", pageMax)}
	}
	page, err := app.ListCases(ctx, t.environ, app.CaseFilter{
		Closed: c.Closed, Account: c.Account, PaymentID: c.Payment, Owner: c.Owner, After: c.After, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	return c.tell(t, page, func() { writeCases(t, page) })
}

func writeCases(t terminal, page app.CasePage) {
	if len(page.Cases) == 0 {
		fmt.Fprintln(t.out, "no cases")
		return
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CASE\tPAYMENT\tKIND\tACCOUNT\tOBJECT\tAMOUNT\tSTATE\tPLAN\tOWNER\tSINCE")
	for _, c := range page.Cases {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.ID, c.PaymentID, c.Kind, c.Account, orDash(c.Object), orDash(c.Amount),
			c.State, c.Plan, c.Owner, c.CreatedAt.Format(time.RFC3339))
	}
	_ = table.Flush() // writing to a terminal
	tellMore(t, page.Next)
}

type caseShow struct {
	Case uuid.UUID `arg:"" help:"The case."`
	format
}

// Run implements the command.
func (c caseShow) Run(ctx context.Context, t terminal) error {
	detail, err := app.ShowCase(ctx, t.environ, c.Case)
	if err != nil {
		return err
	}
	return c.tell(t, detail, func() { writeCase(t, detail) })
}

func writeCase(t terminal, d app.CaseDetail) {
	held := "nothing stands in suspense"
	if d.Suspended {
		held = "held in suspense until it is closed"
	}
	fmt.Fprintf(t.out, "case %s, version %d\n%s of payment %s, operation %s\n%s at %s, object %s; %s\n", d.ID, d.Version, d.Kind, d.PaymentID,
		d.OperationID, orDash(d.Amount), d.Account, orDash(d.Object), held)
	state := d.State
	if d.Resolution != "" {
		state += " (" + d.Resolution + ")"
	}
	fmt.Fprintf(t.out, "%s, plan %s, waits for the %s, next step %s\n", state, d.Plan, d.Owner, shown(d.NextStepAt))
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nHISTORY\tSTATE\tPLAN\tBY\tREASON")
	for _, l := range d.History {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", l.At.Format(time.RFC3339), l.To, l.Plan, l.Who, l.Reason)
	}
	_ = table.Flush() // writing to a terminal
	for i, c := range d.Compensations {
		if i == 0 {
			fmt.Fprintln(t.out, "\nGIVEN BACK BY")
		}
		fmt.Fprintf(t.out, "%s  %s  %s\n", c.OperationID, c.Kind, c.State)
	}
	fmt.Fprintln(table, "\nEVIDENCE\tSOURCE\tVERDICT\tAMOUNT\tOBJECT\tREASON")
	for _, e := range d.Evidence {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", e.AskedAt.Format(time.RFC3339), e.Source, e.Verdict, orDash(e.Amount),
			orDash(e.Object), orDash(e.Reason))
	}
	_ = table.Flush() // writing to a terminal
}

type caseResolve struct {
	Case    uuid.UUID `arg:"" help:"The case."`
	As      string    `required:"" enum:"refund,adopt,dismiss" help:"refund, adopt or dismiss."`
	Version int64     `placeholder:"N" help:"The version that you saw; a case that has moved since is left alone. --execute needs it."`
	decision
}

// Run implements the command.
func (c caseResolve) Run(ctx context.Context, t terminal) error {
	operator, err := c.operator()
	if err != nil {
		return err
	}
	if c.Execute && c.Version == 0 {
		return usageError{errors.New("--execute needs --version, the one that the command without --execute shows")}
	}
	decided, err := app.ResolveCase(ctx, t.environ, app.CaseDecision{Operator: operator, CaseID: c.Case, As: c.As, Version: c.Version})
	if err != nil {
		return err
	}
	return c.tell(t, decided, func() {
		if decided.Executed {
			tellEffect(t, decided.Effect, true)
			return
		}
		fmt.Fprintf(t.out, "would %s\nnothing was changed; this does it, as long as the case has not moved:\n%s\n",
			decided.Effect, c.line(operator, decided.Seen))
	})
}

// line is the command that executes what was rehearsed, about the version that it showed.
func (c caseResolve) line(o app.Operator, seen int64) string {
	return fmt.Sprintf("payctl case resolve %s --as %s --version %d --by %s --reason %s --execute", c.Case, c.As, seen, quoted(o.By), quoted(o.Reason))
}

// quoted is text as one word of a shell's line.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
