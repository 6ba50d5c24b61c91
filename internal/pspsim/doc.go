// Package pspsim is a payment provider to test against: a real HTTP server with
// the manners of real providers, faults that can be programmed, and an oracle
// that knows what was really charged.
//
//	connector ──HTTP──> Server ──> book (what happened) ──> journal (survives a restart)
//	test, demo ──PUT /faults, GET /oracle──^
//
// It keeps no secrets about itself: whatever an answer on the wire said or failed
// to say, the oracle counts what happened. With keys on, a key charges once; with
// keys off every request is a new charge, so that doubles can happen and be seen.
//
// Faults are drawn from a hash of seed, reference and arrival number. The same
// requests meet the same faults in every run, in any order of arrival.
//
// With PUT /webhooks it also tells what happened, signed as in Standard Webhooks,
// and repeats each one until it is taken.
//
// It keeps everything that happened, about 0.6 KiB of memory for each charge with
// its key, and forgets nothing: an oracle that forgets proves nothing.
package pspsim
