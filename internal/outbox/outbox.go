// Package outbox turns "commit, then tell Kafka" into one database write.
//
//	a hop's transaction ──> outbox ──> relay
//
// A row exists if and only if the transaction that wrote it committed. A row may
// be published more than once and is never lost; consumers drop repeats by the
// event's id, which is fixed when the row is written.
package outbox
