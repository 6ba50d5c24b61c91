package matrix_test

import "time"

// moment is when the provider comes to handle the first request, whose answer may
// be lost long before.
type moment int

const (
	atOnce moment = iota
	never
	afterLease // within the grace: the provider is slow, and keeps its word
	afterGrace // it came out of a queue that nobody knew of
)

// muchLater is when afterGrace comes, after the claim.
const muchLater = time.Hour

// deed is what the provider really does with the first request. All later ones it
// handles at once, and in the same way as far as its keys let it.
type deed struct {
	name    string
	token   string // the payment method, which decides about the outcome
	when    moment
	pending bool
}

// The simulated provider's tokens.
const (
	tokenCapture        = "tok_visa"
	tokenDecline        = "tok_decline"
	tokenPending        = "tok_pending"
	tokenPendingDecline = "tok_pending_decline"
)

func deeds() []deed {
	return []deed{
		{name: "took", token: tokenCapture},
		{name: "lost", token: tokenCapture, when: never},
		{name: "declined", token: tokenDecline},
		{name: "took later", token: tokenCapture, when: afterLease},
		{name: "took much later", token: tokenCapture, when: afterGrace},
		{name: "pending, took", token: tokenPending, pending: true},
		{name: "pending, declined", token: tokenPendingDecline, pending: true},
	}
}

// declines reports whether the provider never captures this payment.
func (d deed) declines() bool { return d.token == tokenDecline || d.token == tokenPendingDecline }

// impossible says why a cell cannot be, or nothing. What cannot be is not run, and
// is a dash in the table.
func impossible(w world, broken wire, d deed) (why string) {
	switch {
	case !broken.arrives && d.when != never:
		return "nothing arrived, so there is nothing that the provider did with it"
	case broken.honest && (d.when == never || d.when == afterLease || d.when == afterGrace):
		return "a whole and honest answer in time says what was done"
	case broken.says429 && d.when != never:
		return "its own 429 says that it did not take the request; another deed would be a lie"
	case broken.late && (d.when == never || d.when == afterGrace):
		return "what is not handled is not answered, and no worker waits for an hour"
	case d.when == afterGrace && w.settlesByNotFound() && !w.closesLateArrivals():
		return "it would break its word about the grace; TestU1_U4_TheMatrixSees… shows it, and it is the residue in docs/PROOF.md"
	}
	return ""
}
