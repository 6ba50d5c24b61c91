package pspsim

import (
	"fmt"
	"sync"
	"time"
)

// book is what happened: the truth that the oracle tells. Its lock is held for
// map look-ups only, never for a delay or the disk. Every change is appended to
// the journal under the lock, so that the file has the book's order.
type book struct {
	journal *journal
	now     func() time.Time
	tells   *messenger // nil while the data file is being read

	mu       sync.Mutex
	accounts map[string]*account
	all      []*movement // in order of time; number n is at n-1
	pending  pendingHeap
	totals   map[string]Total
	latest   time.Time
}

func newBook(j *journal, now func() time.Time) *book {
	return &book{journal: j, now: now, accounts: map[string]*account{}, totals: map[string]Total{}}
}

// arrive counts a money-moving request in and returns its number for the
// reference, from 1.
func (b *book) arrive(reference string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := &b.account(reference).counts
	counts.Sends++
	counts.Open++
	return counts.Sends
}

// leave counts the request out.
func (b *book) leave(reference string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.account(reference).counts.Open--
}

// account returns the reference's account; the caller holds the lock.
func (b *book) account(reference string) *account {
	a, ok := b.accounts[reference]
	if !ok {
		a = &account{reference: reference}
		b.accounts[reference] = a
	}
	return a
}

// order is a movement that a request asks for.
type order struct {
	kind       kind
	reference  string
	method     string
	amount     int64
	currency   string
	chargeID   uint64 // of a refund or void
	outcome    outcome
	pendingFor time.Duration
	key        string
	print      fingerprint
}

// result is what an order came to: a movement or a refusal's code. mark is the
// journal's position that must be on disk before anyone hears of it.
type result struct {
	movement *movement
	refusal  string
	mark     uint64
}

// take carries out an order.
func (b *book) take(o order) result {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.settleNow()
	m := &movement{
		seq: uint64(len(b.all)) + 1, kind: o.kind, account: b.account(o.reference),
		amount: o.amount, currency: o.currency, at: now,
	}
	if refusal := b.judge(o, m); refusal != "" {
		return result{refusal: refusal, mark: b.journal.append(refusalRecord(o, refusal, now))}
	}
	mark := b.journal.append(movementRecord(m, o.key, o.print))
	b.add(m)
	b.tell(m)
	return result{movement: m, mark: mark}
}

// judge fills in what the movement comes to, or returns a refusal. A closed door
// refuses first: that is what it was closed for.
func (b *book) judge(o order, m *movement) (refusal string) {
	if o.outcome == outcomeRefuse {
		return codeRefused
	}
	if o.kind != kindCharge {
		if refusal := b.attach(o, m); refusal != "" {
			return refusal
		}
	}
	m.first = StatusCaptured
	switch {
	case m.account.closed:
		m.first, m.firstCode = StatusDeclined, codeVoided
	case o.outcome == outcomeDecline:
		m.first, m.firstCode = StatusDeclined, codeInsufficientFunds
	case o.outcome == outcomePending || o.outcome == outcomePendingDecline:
		m.first, m.resolveAt, m.resolveTo = StatusPending, m.at.Add(o.pendingFor), StatusCaptured
		if o.outcome == outcomePendingDecline {
			m.resolveTo = StatusDeclined
		}
	}
	m.status, m.reason = m.first, m.firstCode
	return ""
}

// tell says how a movement stands now. The caller holds the lock and has appended
// what it says to the journal.
func (b *book) tell(m *movement) {
	b.tells.tell(m.present(), b.latest)
	if m.status == StatusPending {
		b.tells.after(m.resolveAt.Sub(b.latest), func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.settleNow()
		})
	}
}

// attach finds the charge that a refund or void acts on.
func (b *book) attach(o order, m *movement) (refusal string) {
	charge := b.charge(o.chargeID)
	if charge == nil {
		return codeUnknownCharge
	}
	m.charge = charge
	if o.kind == kindVoid {
		m.amount, m.currency = charge.amount, charge.currency
		if !charge.voidable() {
			return codeNotVoidable
		}
		return ""
	}
	if charge.status != StatusCaptured || o.currency != charge.currency || o.amount > charge.amount-charge.refunded {
		return codeNotRefundable
	}
	return ""
}

// charge returns the charge with the number, or nil.
func (b *book) charge(seq uint64) *movement {
	if seq == 0 || seq > uint64(len(b.all)) || b.all[seq-1].kind != kindCharge {
		return nil
	}
	return b.all[seq-1]
}

func (m *movement) voidable() bool {
	return m.refunded == 0 && (m.status == StatusCaptured || m.status == StatusPending)
}

// closeDoor voids what the reference holds and refuses whatever comes later.
func (b *book) closeDoor(reference string) ([]Movement, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.settleNow()
	mark := b.journal.append(doorRecord(reference, now))
	b.shut(reference)
	return b.account(reference).present(time.Time{}), mark
}

func (b *book) shut(reference string) {
	a := b.account(reference)
	a.closed = true
	for _, m := range a.movements {
		switch {
		case m.kind == kindCharge && m.voidable():
			b.void(m)
		case m.kind != kindCharge && m.status == StatusPending:
			m.status, m.reason = StatusVoided, codeVoided
			if m.kind == kindRefund {
				m.charge.refunded -= m.amount
			}
			b.tell(m)
		}
	}
}

// restore enters a movement from the data file.
func (b *book) restore(r record) (*movement, error) {
	if r.Seq != uint64(len(b.all))+1 {
		return nil, fmt.Errorf("movement %d follows movement %d", r.Seq, len(b.all))
	}
	m := &movement{
		seq: r.Seq, kind: r.Kind, account: b.account(r.Reference), amount: r.Amount, currency: r.Currency, at: r.At,
		first: r.Status, firstCode: r.Code, resolveAt: r.ResolveAt, resolveTo: r.ResolveTo, status: r.Status, reason: r.Code,
	}
	if m.kind != kindCharge {
		if m.charge = b.charge(r.Charge); m.charge == nil {
			return nil, fmt.Errorf("movement %d acts on a charge that is not there", r.Seq)
		}
	}
	m.account.counts.Sends++
	b.add(m)
	return m, nil
}
