package kafkadoor

import "errors"

// owedMax bounds the answers that wait for their acknowledgement beside those of a
// step. It is a few steps' worth: when more topics for replies than that cannot be
// written, the door waits for all of them.
const owedMax = 4 * pollRecordsMax

var errOwed = errors.New("earlier answers are not acknowledged yet")

// owed are answers that were given to the client and not acknowledged in their step,
// partition by partition. The client tries for as long as it takes. Until it has
// succeeded their partition gets no new ones, so that a topic that cannot be written
// fills no memory and holds up no other.
//
// It is used between steps only, by one goroutine.
type owed map[place][]<-chan error

func (o owed) add(p place, acks []<-chan error) {
	if len(acks) > 0 {
		o[p] = append(o[p], acks...)
	}
}

// has reports whether a partition's answers are on their way. Those that have arrived
// are forgotten: their commands are not marked, and come again.
func (o owed) has(p place) bool {
	for acks := o[p]; len(acks) > 0; acks = acks[1:] {
		select {
		case <-acks[0]: //nolint:errcheck // whatever became of it, its command comes again
		default:
			o[p] = acks
			return true
		}
	}
	delete(o, p)
	return false
}

// count is how many are on their way, at most.
func (o owed) count() int {
	count := 0
	for p := range o {
		if o.has(p) {
			count += len(o[p])
		}
	}
	return count
}
