package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/app"
)

type unknownCommand struct {
	List    unknownList    `cmd:"" help:"List every operation whose outcome is open, or that waits for a person, with the money at risk."`
	Check   unknownCheck   `cmd:"" help:"Have the provider asked about an operation now."`
	Resolve unknownResolve `cmd:"" help:"Settle an operation that waits for a person, by your word."`
}

type unknownList struct {
	Account   string        `placeholder:"ACCOUNT" help:"Of one provider account."`
	Owner     string        `enum:",machine,person" default:"" help:"Of what the machine or a person has to act on: machine or person."`
	OlderThan time.Duration `placeholder:"AGE" help:"Open for at least that long, such as 1h."`
	After     uuid.UUID     `placeholder:"CURSOR" help:"The next page: the cursor that the page before ended with."`
	Limit     int           `default:"100" help:"Of one page; at most 500."`
	format
}

// Run implements the command.
func (c unknownList) Run(ctx context.Context, t terminal) error {
	if c.Limit < 1 || c.Limit > pageMax || c.OlderThan < 0 {
		return usageError{fmt.Errorf("--limit is 1 to %d, and --older-than is not negative", pageMax)}
	}
	page, err := app.ListUnknown(ctx, t.environ, app.UnknownFilter{
		Account: c.Account, Owner: c.Owner, OlderThan: c.OlderThan, After: c.After, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	return c.tell(t, page, func() { writeUnknown(t, page) })
}

// pageMax bounds a page of every list.
const pageMax = 500

// tellMore says how to get the page after this one, if there is one.
func tellMore(t terminal, next string) {
	if next != "" {
		fmt.Fprintf(t.out, "there is more: --after %s\n", next)
	}
}

func writeUnknown(t terminal, page app.UnknownPage) {
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	if len(page.Operations) > 0 {
		fmt.Fprintln(table, "OPERATION\tPAYMENT\tACCOUNT\tKIND\tAMOUNT\tSTATE\tREASON\tAGE\tNEXT CHECK\tOWNER")
	}
	for _, o := range page.Operations {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s %s\t%s\t%s\t%s\t%s\t%s\n", o.OperationID, o.PaymentID, o.Account, o.Kind, o.Amount, o.Currency,
			o.State, orDash(o.Reason), age(o.AgeSeconds), shown(o.NextCheckAt), o.Owner)
	}
	_ = table.Flush() // writing to a terminal
	for _, total := range page.Totals {
		fmt.Fprintf(t.out, "%s: %s %s at risk in %d unknown; %d waiting in all, %d of them for a person, the oldest for %s\n",
			total.Account, total.AtRisk, total.Currency, total.Unknown, total.Operations, total.ForPerson, age(total.OldestAgeSeconds))
	}
	if len(page.Totals) == 0 {
		fmt.Fprintln(t.out, "nothing waits")
	}
	tellMore(t, page.Next)
}

type unknownCheck struct {
	Operation uuid.UUID `arg:"" help:"The operation."`
	Execute   bool      `help:"Do it. Without it nothing is changed."`
	format
}

// Run implements the command.
func (c unknownCheck) Run(ctx context.Context, t terminal) error {
	decided, err := app.CheckUnknown(ctx, t.environ, c.Operation, c.Execute)
	if err != nil {
		return err
	}
	return c.tell(t, decided, func() { tellEffect(t, decided.Effect, decided.Executed) })
}

type unknownResolve struct {
	Operation     uuid.UUID `arg:"" help:"The operation."`
	As            string    `required:"" enum:"failed,captured" help:"failed or captured."`
	NothingIsHeld bool      `help:"With failed: you have looked at the provider, and it holds nothing and will take nothing."`
	Object        string    `placeholder:"ID" help:"With captured: the provider's id of the movement."`
	Amount        string    `placeholder:"AMOUNT" help:"With captured: what the provider took, such as 10.00, in the payment's currency."`
	decision
}

// Run implements the command.
func (c unknownResolve) Run(ctx context.Context, t terminal) error {
	captured := c.As == "captured"
	switch {
	case !captured && !c.NothingIsHeld:
		return usageError{errors.New("failed needs --nothing-is-held: look at the provider first")}
	case !captured && (c.Object != "" || c.Amount != ""):
		return usageError{errors.New("--object and --amount are for captured")}
	case captured && (c.Object == "" || c.Amount == "" || c.NothingIsHeld):
		return usageError{errors.New("captured needs --object and --amount, and no --nothing-is-held")}
	}
	operator, err := c.operator()
	if err != nil {
		return err
	}
	decided, err := app.ResolveUnknown(ctx, t.environ, app.Resolution{
		Operator: operator, OperationID: c.Operation, Captured: captured, Object: c.Object, Amount: c.Amount,
	})
	if err != nil {
		return err
	}
	return c.tell(t, decided, func() { tellEffect(t, decided.Effect, decided.Executed) })
}
