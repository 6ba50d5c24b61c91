// Package outcome turns what was learned about an operation into what is true
// about its payment.
//
//	worker, reconciler ──evidence──> outcome ──> operation, payment, ledger,
//	                                             stored answer, history, event
//
// It is the only place that applies an outcome, and everything that follows from
// one becomes visible together or not at all, when the caller commits.
//
// Its promise: a timeout is not a result (P3). An operation becomes succeeded on
// captured evidence of equal amount and currency, from whatever source and
// however late; it becomes failed, or may be sent again, only when every attempt
// that may have been sent is covered by a no. Whatever else arrives is kept as
// evidence and decides nothing. The triggers in schema/migrations hold the same
// rules and do not trust this package.
package outcome
