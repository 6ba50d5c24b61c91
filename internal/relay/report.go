package relay

import (
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/outbox"
)

// reasonBytesMax bounds the reason that is kept with a parked row.
const reasonBytesMax = 500

// errLate is the trouble of records that the broker neither takes nor refuses.
var errLate = errors.New("the broker acknowledges nothing; what was sent is still with the client")

// refusedForGood reports whether the broker will refuse the record, or another
// one in its batch, however often it is sent. Everything else may pass: no rights
// yet, no leader, too few replicas.
func refusedForGood(err error) bool {
	for _, refusal := range []error{
		kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTopicException, kerr.UnsupportedForMessageFormat,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// conclude draws the consequences of a flight for what the relay does next, and
// logs what somebody has to look at.
func (r *Relay) conclude(f *flight, alone bool) {
	published := false
	for i, fate := range f.fates {
		published = published || fate.Published
		if fate.Parked != "" {
			r.log.Error("event parked", rowFields(&f.rows[i], zap.String("reason", fate.Parked))...)
		}
	}
	if published {
		r.gate.acknowledged()
	}
	late := false
	for _, failed := range f.failures {
		late = late || errors.Is(failed.err, errLate)
		r.learn(&f.rows[failed.row], failed.err)
	}
	if late {
		r.gate.gaveUp(f.began)
	}
	if len(f.failures) > 0 {
		first := f.failures[0]
		r.log.Warn("events stay in the outbox", rowFields(&f.rows[first.row], zap.Int("events", len(f.failures)), zap.Error(first.err))...)
	}
	if alone {
		r.maybeAcquit(f)
	}
}

// learn draws the consequences of one row that stays.
func (r *Relay) learn(row *outbox.Row, err error) {
	switch {
	case refusedForGood(err):
		r.lanes.suspect(row.Lane, row.Seq)
		return // it is looked at at once
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		r.topics.doubt(row.Topic)
		r.gate.doubt()
	case errors.Is(err, errLate):
		return // the lane is left alone in any case
	}
	r.lanes.rest(row.Lane)
}

// maybeAcquit ends a lane's suspicion when all rows that it was about are gone.
func (r *Relay) maybeAcquit(f *flight) {
	lane := f.rows[0].Lane
	for i, fate := range f.fates {
		if fate == (outbox.Fate{}) && f.rows[i].Seq <= r.lanes.suspectedTo(lane) {
			return
		}
	}
	if f.rows[len(f.rows)-1].Seq >= r.lanes.suspectedTo(lane) {
		r.lanes.acquit(lane)
	}
}

// landedLate takes the client's word on a row whose step has given up waiting.
func (r *Relay) landedLate(row *outbox.Row, err error) {
	if err == nil {
		r.gate.acknowledged()
	}
	r.lanes.addLate(row.Lane, -1, -recordBytes(row))
}

func rowFields(row *outbox.Row, more ...zap.Field) []zap.Field {
	return append([]zap.Field{
		zap.Stringer("payment_id", row.Key), zap.Stringer("event_id", row.EventID), zap.String("topic", row.Topic),
		zap.Int16("lane", row.Lane), zap.Int64("seq", row.Seq),
	}, more...)
}

func shorten(reason string) string {
	if len(reason) <= reasonBytesMax {
		return reason
	}
	return strings.ToValidUTF8(reason[:reasonBytesMax], "")
}
