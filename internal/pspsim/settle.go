package pspsim

import (
	"container/heap"
	"time"
)

// add enters a judged movement, from a request or from the journal.
func (b *book) add(m *movement) {
	b.all = append(b.all, m)
	m.account.movements = append(m.account.movements, m)
	if m.kind == kindRefund && m.status != StatusDeclined {
		m.charge.refunded += m.amount
	}
	switch m.status {
	case StatusPending:
		heap.Push(&b.pending, m)
	case StatusCaptured:
		b.post(m)
	case StatusDeclined, StatusVoided: // nothing to count
	}
}

// post counts a movement that took place.
func (b *book) post(m *movement) {
	total := b.totals[m.currency]
	switch m.kind {
	case kindCharge:
		m.account.counts.Charged++
		total.Charged += m.amount
	case kindRefund:
		m.account.counts.Refunded++
		total.Refunded += m.amount
	case kindVoid:
		b.void(m.charge)
		return
	}
	b.totals[m.currency] = total
}

// void undoes a voidable charge. A pending one was never counted as charged, and
// is not counted as voided.
func (b *book) void(charge *movement) {
	if charge.status == StatusCaptured {
		total := b.totals[charge.currency]
		total.Charged -= charge.amount
		b.totals[charge.currency] = total
		charge.account.counts.Voided++
	}
	charge.status, charge.reason = StatusVoided, codeVoided
	b.tell(charge)
}

// settleNow settles up to the present and returns it, in whole microseconds and
// never before an earlier one: the journal's times must lead a restart through
// the same steps, and lists are searched by time.
func (b *book) settleNow() time.Time {
	if now := b.now().UTC().Truncate(time.Microsecond); now.After(b.latest) {
		b.latest = now
	}
	b.settle(b.latest)
	return b.latest
}

// settle lets pending movements come to their end. It depends on nothing but the
// time and what the journal holds, so that it needs no line of its own there.
func (b *book) settle(now time.Time) {
	for len(b.pending) > 0 && !b.pending[0].resolveAt.After(now) {
		m := heap.Pop(&b.pending).(*movement)
		if m.status != StatusPending {
			continue // voided meanwhile
		}
		lost := m.kind == kindVoid && !m.charge.voidable() // a refund came first
		if m.resolveTo == StatusCaptured && !lost {
			m.status = StatusCaptured
			b.post(m)
			b.tell(m)
			continue
		}
		m.status, m.reason = StatusDeclined, codeInsufficientFunds
		if m.kind == kindRefund {
			m.charge.refunded -= m.amount
		}
		b.tell(m)
	}
}

// pendingHeap orders pending movements by the moment at which they resolve.
type pendingHeap []*movement

func (h pendingHeap) Len() int           { return len(h) }
func (h pendingHeap) Less(i, j int) bool { return h[i].resolveAt.Before(h[j].resolveAt) }
func (h pendingHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *pendingHeap) Push(m any) { *h = append(*h, m.(*movement)) }

// Pop implements heap.Interface.
func (h *pendingHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	return last
}
