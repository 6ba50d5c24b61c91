// Package intake takes payments on inside the caller's own transaction.
//
//	your rows + Submit ──your tx──> your commit: both, or neither
//
// Its promise: the payment exists if and only if your transaction commits. There is
// no moment at which your order is stored and its payment is not, and none at which
// money is charged for an order that was rolled back. The rules are those of
// payonce's HTTP API: the same idempotency keys (one that was used there is known
// here), the same business identities, the same limits. The same services do the
// rest.
//
// # What it needs
//
// Your tables are in payonce's database, and payonce's schema is up to date there
// (`payctl migrate`). Your service connects as a role of its own, which may do to
// payonce's tables what payonce's services may, and no more:
//
//	CREATE ROLE shop LOGIN PASSWORD '…';
//	GRANT payonce_app TO shop;
//
// Never as payonce_owner or a superuser: the guards in the database hold for
// payonce_app. PostgreSQL must keep acknowledged commits (synchronous_commit is not
// off; Submit looks, and refuses with [ErrDurability]). [Config] has the cell and the
// topic prefix of the services, which nothing here can check. With another prefix the
// payment is found and charged by the due list, a minute later, but nobody ever hears of
// it: the relay finds no topic for its first event and sets it aside, and all later ones
// of the payment wait behind that. The relay's log says so ("event parked"). It also has
// PAYONCE_KEY_WINDOW, which must be that of the services; read it from where they do.
// When they keep keys for a shorter time than this says, a time-ordered key that was
// swept is taken for a new one here, and only its invoice stands against a second
// payment.
//
// # What it does to your transaction
//
// The transaction must be READ COMMITTED, PostgreSQL's default: in a stricter one a
// repeat could not see the payment that the first request made while it waited.
//
// Submit locks rows of payonce only: the key, then the invoice and the external
// reference. Until your transaction ends, every other request with that key, for
// that invoice or that reference waits for it, up to a second, and is then told to
// come back; requests of other keys and invoices do not notice. So call Submit late,
// just before the commit, and call nobody over a network after it. Lock your own
// rows before Submit, in every transaction: two that do it in opposite orders can
// wait for each other. Call it once per transaction; a second one with a smaller
// key can meet a deadlock, which PostgreSQL ends and Submit reports as [ErrBusy].
//
// While Submit runs it sets lock_timeout, search_path and three settings of the
// planner for the transaction, and puts back what was there. It works behind a savepoint
// of its own: when it returns an error, also because its context ended between two
// statements, it has gone back there, and what you commit then holds nothing of the
// payment.
//
// # What its answer means
//
// Nothing holds until your commit is acknowledged: a [Result] is what will be true
// then. After a rollback there is no payment, no key and no event, and the key can
// be used again. When the commit's own answer is lost, nobody knows: repeat the whole
// transaction with the same key, and Submit says [Result.Replayed] if it happened.
//
// A payment that was accepted is charged, or fails, by itself. Its outcome comes as
// an event, see package inbox, or over HTTP.
package intake
