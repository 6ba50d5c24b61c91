package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Report is what the demo found. Its JSON form is a contract; amounts are in
// minor units.
type Report struct {
	Accepted        int     `json:"accepted"`         // distinct payments that clients were answered
	Requests        int     `json:"requests"`         // HTTP posts, repeats included
	Captured        int     `json:"captured"`         //
	Failed          int     `json:"failed"`           // canceled ones included
	UnknownOpen     int     `json:"unknown_open"`     // not final when the demo ended
	Sends           int     `json:"sends"`            // money-moving requests that arrived at the providers
	Takeovers       int     `json:"takeovers"`        // leases that ran out
	ProviderCharges int     `json:"provider_charges"` // charges that stand, by the oracles
	DoubleCharges   int     `json:"double_charges"`   // payments with more than one charge, voided ones included
	Lost            int     `json:"lost"`             // accepted − final − open
	LedgerSum       int64   `json:"ledger_sum"`       //
	EventsPublished int     `json:"events_published"` // distinct event ids on the topics
	EventsInvalid   int     `json:"events_invalid"`   // of them, those that break their published schema
	Billed          int     `json:"billed"`           // rows in billing's database
	Seconds         float64 `json:"seconds"`          // first request to last outcome told
	Canceled        int     `json:"canceled"`         // of Failed, those that a client canceled
	Refunds         int     `json:"refunds"`          // of those that clients were answered, refunds that took place
	DoubleRefunds   int     `json:"double_refunds"`   // references under which money went back more than once
	LostRefunds     int     `json:"lost_refunds"`     // refunds that clients were answered and that are not there

	loadSeconds    float64 // first request to last answer
	untold         int     // payments and refunds that exist and that no client was told of
	disagreements  int     // payments and refunds that provider and payonce see differently
	wrongTotals    int     // currencies in which the providers hold another sum
	guesses        int     // final charges without evidence
	wrongBalances  int     // accounts and currencies that do not add up
	eventsTold     int     // committed
	eventsMissing  int     // committed and not on the topics, or still in the outbox
	repeatedEvents int
	disorderly     int // payments whose events came out of order
	wrongBills     int // rows of billing that match no captured payment
	unequalAnswers int
	openRefunds    int // not final when the demo ended
	wrongRefunded  int // currencies in which the providers gave back another sum
	tooLate        int // cancels that were refused
	refusedRefunds int // as more than was left
}

// promise is one line of the report.
type promise struct {
	id, text, found string
	kept            bool
}

// promises says which promises the report shows to be kept.
func (r Report) promises() []promise {
	return []promise{
		{
			"P1", "no double charge",
			fmt.Sprintf("%d charged twice; %d charges stand at the providers for %d captured; %d refunded twice",
				r.DoubleCharges, r.ProviderCharges, r.Captured, r.DoubleRefunds),
			r.movedOnce(),
		},
		{
			"P2", "no lost payment",
			fmt.Sprintf("%d accepted, %d lost, %d still open; of refunds %d lost, %d open",
				r.Accepted, r.Lost, r.UnknownOpen, r.LostRefunds, r.openRefunds),
			r.Lost == 0 && r.UnknownOpen == 0 && r.LostRefunds == 0 && r.openRefunds == 0,
		},
		{
			"P3", "no guess", fmt.Sprintf("%d final without evidence; %d disagree with the provider", r.guesses, r.disagreements),
			r.guesses == 0 && r.disagreements == 0,
		},
		{
			"P4", "books balance",
			fmt.Sprintf("entries sum to %d; %d balances are not what was captured and refunded", r.LedgerSum, r.wrongBalances),
			r.LedgerSum == 0 && r.wrongBalances == 0,
		},
		{
			"P5", "event if and only if commit",
			fmt.Sprintf("%d committed, %d on the topics (%d more than once), %d out of order, %d not as their schema says; %d billed",
				r.eventsTold, r.EventsPublished, r.repeatedEvents, r.disorderly, r.EventsInvalid, r.Billed),
			r.eventsMissing == 0 && r.eventsTold == r.EventsPublished && r.EventsInvalid == 0 && r.disorderly == 0 && r.wrongBills == 0 &&
				r.Billed == r.Captured,
		},
		{
			"P6", "the second request gets the first one's answer",
			fmt.Sprintf("%d requests, %d answered differently, %d untold", r.Requests, r.unequalAnswers, r.untold),
			r.unequalAnswers == 0 && r.untold == 0,
		},
	}
}

// movedOnce: charges and refunds took place once each, and for what we say.
func (r Report) movedOnce() bool {
	return r.DoubleCharges == 0 && r.ProviderCharges == r.Captured && r.wrongTotals == 0 && r.DoubleRefunds == 0 && r.wrongRefunded == 0
}

// Broken lists the ids of the promises that were not kept.
func (r Report) Broken() []string {
	var broken []string
	for _, p := range r.promises() {
		if !p.kept {
			broken = append(broken, p.id)
		}
	}
	return broken
}

func (r Report) print(out io.Writer) {
	fmt.Fprintf(out, "\n%d payments in %d requests: %d captured, %d failed, %d canceled, %d open; %d requests at the providers, %d leases taken over\n",
		r.Accepted, r.Requests, r.Captured, r.Failed-r.Canceled, r.Canceled, r.UnknownOpen, r.Sends, r.Takeovers)
	fmt.Fprintf(out, "%d refunds took place, %d requests for more than was left were refused; %d cancels came too late\n",
		r.Refunds, r.refusedRefunds, r.tooLate)
	fmt.Fprintf(out, "accepted in %.1f s (%.0f/s), all final after %.1f s\n\n", r.loadSeconds, float64(r.Accepted)/r.loadSeconds, r.Seconds)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range r.promises() {
		verdict := "kept"
		if !p.kept {
			verdict = "BROKEN"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", p.id, p.text, verdict, p.found)
	}
	_ = table.Flush() // like the lines above: a closed terminal is no finding
}

func (r Report) printJSON(out io.Writer) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("rendering the report: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s\n", line)
	return err
}
