// Package matrix holds the test that runs an accepted payment through every way in
// which a provider can fail to tell what it did.
//
//	what it declares × where the wire broke × what it really did ──> end state
//
// Worker, reconciler and PostgreSQL are the real ones; only the clocks of database
// and provider are moved. In every cell money moves at most once, a payment is
// captured if and only if the provider holds the money, and it stays open only
// where nobody can be asked. The end states are testdata/matrix.golden; docs/PROOF.md
// says how to read it.
package matrix
