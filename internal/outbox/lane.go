package outbox

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// Lanes is how many queues the outbox consists of. All rows of a payment are in
// one lane.
//
// It is a power of two and at least the number of a topic's partitions, which is
// one too: then all payments of a lane share a partition, and a lane that waits
// for its partition makes no other partition wait.
const Lanes = 64

// Lane returns the lane of a payment: the hash by which Kafka's default
// partitioner chooses the partition of a record whose key is the payment's id as
// text, modulo Lanes.
func Lane(payment uuid.UUID) int16 {
	return int16(murmur2([]byte(payment.String())) & 0x7fffffff % Lanes)
}

// murmur2 is the hash of Kafka's default partitioner. Clients keep theirs to
// themselves, so that this one is tested against the client that we use.
// Source: org.apache.kafka.common.utils.Utils.murmur2.
func murmur2(data []byte) uint32 {
	const (
		seed  uint32 = 0x9747b28c
		m     uint32 = 0x5bd1e995
		shift        = 24
	)
	hash := seed ^ uint32(len(data)) //nolint:gosec // the text of a UUID
	for ; len(data) >= 4; data = data[4:] {
		k := binary.LittleEndian.Uint32(data) * m
		k = (k ^ k>>shift) * m
		hash = hash*m ^ k
	}
	if len(data) > 0 { // up to three bytes, as the low bytes of a word
		var tail [4]byte
		copy(tail[:], data)
		hash = (hash ^ binary.LittleEndian.Uint32(tail[:])) * m
	}
	hash = (hash ^ hash>>13) * m
	return hash ^ hash>>15
}
