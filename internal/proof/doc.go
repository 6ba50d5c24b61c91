// Package proof holds tests that run payonce the way its users do: as separate
// processes, from their built binaries, against a real PostgreSQL and a real
// Kafka, and then do to them what happens at three in the morning.
package proof
