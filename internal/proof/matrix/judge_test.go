package matrix_test

import (
	"fmt"

	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/payment"
)

// amountMinor is what fixture's payments ask for.
const amountMinor = 1000

// judge says what is wrong with a cell's end, whatever the golden file says.
func judge(c *cell, really pspsim.Counts) []string {
	var wrong []string
	complain := func(broken bool, format string, args ...any) {
		if broken {
			wrong = append(wrong, fmt.Sprintf("%s, %s: ", c.stage.world.name, c.name())+fmt.Sprintf(format, args...))
		}
	}
	end, holds := c.end, really.Charged-really.Voided
	taken, failed := end.state == payment.OperationSucceeded, end.state == payment.OperationFailed
	complain(really.Charged > 1, "P1: charged %d times", really.Charged)
	complain(taken && holds != 1, "P3: captured, and the provider holds %d charges", holds)
	complain(failed && holds != 0, "P3: failed, and the provider holds %d charges", holds)
	complain(end.stirred, "P3: something happened after it was final: %+v", end)
	complain(end.maySent-end.notTaken > 1 && !c.stage.world.declared.Key.Supported, "U2: %d requests may have left, without a key", end.maySent)

	booked := [3]int64{}
	if taken {
		booked = [3]int64{2, 0, amountMinor}
	}
	complain([3]int64{int64(end.entries), end.entriesSum, end.charged} != booked, "P4: %d entries, their sum %d, booked %d",
		end.entries, end.entriesSum, end.charged)
	complain(end.invoice == failed, "I9: the invoice is held: %t", end.invoice)
	complain((end.finals == 1) != end.state.Final() || end.finals > 1, "P5: %d final events", end.finals)

	switch end.state {
	case payment.OperationSucceeded, payment.OperationFailed:
	case payment.OperationUnknown:
		complain(!c.mayStayUnknown(really.Sends > 0), "P2: it stays unknown where someone can be asked")
	case payment.OperationPending:
		complain(!c.mayStayPending(), "P2: it stays pending where someone can be asked")
	default:
		complain(true, "P2: %s is no state to rest in", end.state)
	}
	return wrong
}

// mayStayUnknown is the whole permission to leave a payment to a person, or to go
// on asking for ever: neither a key within its horizon nor an inquiry whose "not
// found" proves something.
func (c *cell) mayStayUnknown(arrived bool) bool {
	declared := c.stage.world.declared
	switch {
	case !c.wire.mayHaveSent() || c.wire.honest || c.wire.says429:
		return false // the attempt spoke for itself
	case declared.Inquiry.NotFoundAuthoritative:
		return false
	case declared.Key.Supported && declared.Key.Horizon > sendOver:
		// Where failures are not kept, the decline of a resend is about the resend.
		return c.deed.declines() && !declared.Key.LaterDeclineCovers()
	case declared.Inquiry.Supported:
		return !arrived // what is there is found
	}
	return true
}

// mayStayPending allows it where nobody can be asked how it went; webhooks, which
// this matrix leaves out, would tell.
func (c *cell) mayStayPending() bool {
	return c.deed.pending && !c.stage.world.declared.Inquiry.Supported
}

// mayHaveSent reports whether a byte of the request left.
func (w wire) mayHaveSent() bool { return w.address == nil && !w.secure }
