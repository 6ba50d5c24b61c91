package schema_test

import "fmt"

// births: rows are born created, without a past.
func births() []guard {
	payment := func(columns, values string) string {
		return fmt.Sprintf(`INSERT INTO payment (id, merchant_id, invoice_id, payment_type, amount_minor, currency,
			trace_parent, correlation_id, idempotency_key%s) VALUES (@fresh, @merchant, 'fresh', 'invoice', 1000, 'TRY', '', '', 'key'%s)`,
			columns, values)
	}
	operation := func(minor int, currency, columns, values string) string {
		return fmt.Sprintf(`INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency%s)
			VALUES (@fresh_operation, @fresh, 'charge', 'card', %d, '%s'%s)`, columns, minor, currency, values)
	}
	given := []string{payment("", "")}
	good := operation(1000, "TRY", "", "")
	born := "rows_are_born_created"
	all := []guard{
		{
			name: "a payment with refunds is born", refused: payment(", refunded_minor", ", 1"), because: born,
			instead: payment("", ""),
		},
		{
			name: "an operation with a fence is born", given: given, refused: operation(1000, "TRY", ", fence", ", 1"),
			because: born, instead: good,
		},
		{
			name: "an operation with a lease is born", given: given, because: born, instead: good,
			refused: operation(1000, "TRY", ", lease_until", ", payonce_now()"),
		},
		{
			name: "a charge of another amount than its payment's", given: given, refused: operation(999, "TRY", "", ""),
			because: "an_operation_moves_its_payments_money", instead: good,
		},
		{
			name: "a charge in another currency than its payment's", given: given, refused: operation(1000, "USD", "", ""),
			because: "an_operation_moves_its_payments_money", instead: good,
		},
		{
			name: "a second charge of one payment", because: "operation_one_charge_per_payment",
			refused: `INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency)
				VALUES (@fresh_operation, @payment, 'charge', 'card', 1000, 'TRY')`,
			instead: `INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency)
				VALUES (@fresh_operation, @payment, 'void', 'card', 1000, 'TRY')`,
		},
		{
			name: "a payment over nothing", because: "payment_amount_minor_check", instead: payment("", ""),
			refused: `INSERT INTO payment (id, merchant_id, invoice_id, payment_type, amount_minor, currency, trace_parent, correlation_id,
				idempotency_key) VALUES (@fresh, @merchant, 'fresh', 'invoice', 0, 'TRY', '', '', 'key')`,
		},
	}
	for _, state := range []string{"processing", "pending", "unknown", "captured", "failed", "canceled"} {
		all = append(all, guard{
			name: "a payment is born " + state, refused: payment(", state", ", '"+state+"'"), because: born,
			instead: payment(", state", ", 'created'"),
		})
	}
	for _, state := range []string{"processing", "pending", "unknown", "succeeded", "failed", "canceled"} {
		all = append(all, guard{
			name: "an operation is born " + state, given: given, because: born,
			refused: operation(1000, "TRY", ", state, next_check_at", ", '"+state+"', payonce_now()"),
			instead: operation(1000, "TRY", ", state, next_check_at", ", 'created', payonce_now()"),
		})
	}
	return all
}

// fixed: what accept fixed has no right to be changed, and what was seen stays.
func fixed() []guard {
	var all []guard
	free := map[string]string{
		"payment":   `UPDATE payment SET updated_at = payonce_now() WHERE id = @payment`,
		"operation": `UPDATE operation SET updated_at = payonce_now() WHERE id = @operation`,
		"attempt":   finished(1, false),
	}
	for table, columns := range map[string][]string{
		"payment": {
			"id", "merchant_id", "invoice_id", "payment_type", "external_reference",
			"amount_minor", "currency", "payment_method", "charge_before",
		},
		"operation": {"id", "payment_id", "kind", "provider_account", "amount_minor", "currency", "charge_before"},
		"attempt":   {"operation_id", "fence", "recipe", "claimed_at", "lease_until", "last_possible_send", "claim_id"},
	} {
		for _, column := range columns {
			all = append(all, guard{
				name: "changing " + table + "." + column, given: claimed(), because: noRight,
				refused: fmt.Sprintf("UPDATE %[1]s SET %[2]s = %[2]s", table, column), instead: free[table],
			})
		}
		all = append(all, guard{
			name: "deleting from " + table, given: claimed(), refused: "DELETE FROM " + table, because: noRight, instead: free[table],
		})
	}
	history := `INSERT INTO payment_history (payment_id, operation_id, to_state, fence) VALUES (@payment, @operation, 'created', 0)`
	for table, row := range map[string]string{"evidence": captured.ofNoAttempt().sql(), "payment_history": history} {
		change := "UPDATE " + table + " SET operation_id = @other_operation"
		for _, statement := range []string{change, "DELETE FROM " + table, "TRUNCATE " + table} {
			all = append(all, guard{name: statement, given: []string{row}, refused: statement, because: noRight, instead: row})
		}
	}
	return append(all, guard{
		name: "half an event in history", because: "an_event_is_whole_or_absent", instead: history,
		refused: `INSERT INTO payment_history (payment_id, operation_id, to_state, fence, event_id)
			VALUES (@payment, @operation, 'created', 0, @fresh)`,
	}, guard{
		name: "an answer to an attempt that was never made", refused: captured.sql(), because: "evidence_operation_id_fence_fkey",
		proof: []string{recorded(1, 0)},
	}, guard{
		name: "a webhook that covers", because: "a_webhook_never_covers",
		refused: evidence{source: "webhook", verdict: "declined", asked: 20, covers: true}.sql(),
		instead: evidence{source: "webhook", verdict: "declined", asked: 20}.sql(),
	}, guard{
		name: "a yes that covers", because: "only_a_no_covers",
		refused: evidence{source: "inquiry", verdict: "unclear", asked: 20, covers: true}.sql(),
		instead: evidence{source: "inquiry", verdict: "not_taken", asked: 20, covers: true}.sql(),
	})
}

// books: a posting balances and books what its operation moved, once (P4, L1).
func books() []guard {
	line := func(n, minor int) string {
		return fmt.Sprintf(`INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
			VALUES (@operation, 'movement', %d, %s, 'TRY', %d)`, n, clearing, minor)
	}
	crossed := `INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
		VALUES (@operation, 'movement', 1, ` + clearing + `, 'TRY', 1000), (@operation, 'movement', 2, ` + owedAccount + `, 'USD', -1000)`
	good := posting(1000, "TRY")
	all := []guard{
		{name: "one line alone", given: succeeded(accounts), refused: line(1, 1000), because: "a_posting_balances", instead: good},
		{
			name: "lines in two currencies", given: succeeded(accounts), refused: crossed, because: "a_posting_balances",
			instead: good,
		},
		{
			name: "a posting before the operation succeeded", given: claimed(captured.sql(), accounts), refused: good,
			because: "a_posting_books_what_moved",
			proof:   []string{succeed},
		},
		{
			name: "a posting for a failed operation", given: failed(accounts), refused: good, because: "a_posting_books_what_moved",
			instead: noted,
		},
		{
			name: "a posting of another amount", given: succeeded(accounts), refused: posting(999, "TRY"),
			because: "a_posting_books_what_moved", instead: good,
		},
		{
			name: "a posting in another currency", given: succeeded(accounts), refused: posting(1000, "USD"),
			because: "a_posting_books_what_moved", instead: good,
		},
		{
			name: "a posting twice", given: succeeded(accounts, good), refused: good, because: "a_posting_is_booked_once",
			instead: shown("captured"),
		},
		{
			name: "more lines for what is posted", given: succeeded(accounts, good), because: "a_posting_balances",
			instead: shown("captured"),
			refused: `INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
				VALUES (@operation, 'movement', 3, ` + clearing + `, 'TRY', 1000), (@operation, 'movement', 4, ` + owedAccount + `, 'TRY', -1000)`,
		},
		{
			name: "a charge that is owed to another merchant", given: succeeded(accounts), because: "a_posting_books_what_moved",
			refused: postingTo(clearing, anothersOwed, 1000, "TRY"), instead: good,
		},
		{
			name: "a charge that another provider account owes", given: succeeded(accounts), because: "a_posting_books_what_moved",
			refused: postingTo(anothersClearing, owedAccount, 1000, "TRY"), instead: good,
		},
		{
			name: "a charge that is booked the other way round", given: succeeded(accounts), because: "a_posting_books_what_moved",
			refused: postingTo(owedAccount, clearing, 1000, "TRY"), instead: good,
		},
		{
			name: "a posting to an account that is not there", given: succeeded(), refused: good,
			because: "ledger_entry_account_currency_fkey", proof: []string{accounts},
		},
	}
	for _, statement := range []string{"UPDATE ledger_entry SET amount_minor = 1", "DELETE FROM ledger_entry", "TRUNCATE ledger_entry"} {
		all = append(all, guard{
			name: statement, given: succeeded(accounts, good), refused: statement, because: noRight, instead: shown("captured"),
		})
	}
	return all
}

// identities: an invoice stays blocked while its payment lives (U6, I9).
func identities() []guard {
	const because = "a_live_payment_keeps_its_identity"
	var all []guard
	for _, table := range []string{"invoice_identity", "reference_identity"} {
		release := "DELETE FROM " + table + " WHERE payment_id = @payment"
		end := `UPDATE operation SET state = 'canceled', next_attempt_at = NULL WHERE id = @operation`
		all = append(all,
			guard{
				name: "releasing the " + table + " of a created payment", refused: release, because: because,
				proof: []string{end, shown("canceled")},
			},
			guard{
				name: "releasing the " + table + " of an unknown payment", given: claimed(moved("unknown"), shown("unknown")),
				refused: release,
				because: because, proof: []string{
					evidence{source: "answer", verdict: "declined", fence: 1}.sql(),
					`UPDATE operation SET state = 'failed' WHERE id = @operation`, shown("failed"),
				},
			},
			guard{
				name: "releasing the " + table + " of a captured payment", given: succeeded(shown("captured")), refused: release,
				because: because,
				instead: "SELECT FROM " + table + " WHERE payment_id = @payment FOR UPDATE",
			},
			guard{
				name:    "taking over the right to release the " + table,
				refused: "UPDATE " + table + " SET writer = pg_current_xact_id()",
				because: appendOnly, instead: "SELECT FROM " + table + " WHERE payment_id = @payment FOR UPDATE",
			},
			guard{
				name:    "passing the " + table + " on",
				refused: "UPDATE " + table + " SET payment_id = @other_payment WHERE payment_id = @payment",
				because: noRight, instead: "SELECT FROM " + table + " WHERE payment_id = @payment FOR UPDATE",
			},
		)
	}
	return append(all,
		guard{
			name: "a second live payment for the invoice", because: "invoice_identity_pkey",
			refused: `INSERT INTO invoice_identity (merchant_id, invoice_id, payment_type, payment_id)
				VALUES (@merchant, @invoice, 'invoice', @fresh)`,
			proof: append(failed(), `DELETE FROM invoice_identity WHERE payment_id = @payment`),
		},
		guard{
			name: "taking back what this transaction holds", refused: `DELETE FROM invoice_identity WHERE payment_id = @payment`,
			because: because,
			proof: []string{`INSERT INTO invoice_identity (merchant_id, invoice_id, payment_type, payment_id)
				VALUES (@merchant, 'fresh', 'invoice', @fresh)`},
			instead: `DELETE FROM invoice_identity WHERE payment_id = @fresh`,
		},
	)
}

// answers: a payment shows its charge, and its first answer stays (P6).
func answers() []guard {
	store := `UPDATE idempotency_key SET status = 201, body = '\x7b7d' WHERE resource_id = @payment`
	return []guard{
		{
			name: "a payment that shows more than its charge", given: succeeded(), refused: shown("failed"),
			because: "a_payment_shows_its_charge", instead: shown("captured"),
		},
		{
			name: "a payment that is captured before its charge", given: claimed(captured.sql()), refused: shown("captured"),
			because: "a_payment_shows_its_charge",
			proof:   []string{succeed},
		},
		{
			name: "a stored answer is overwritten", given: []string{store}, because: "a_stored_answer_stays",
			refused: `UPDATE idempotency_key SET body = '\x5b5d' WHERE resource_id = @payment`,
			instead: `UPDATE idempotency_key SET status = 201, body = '\x5b5d' WHERE resource_id = @other_payment`,
		},
		{
			name: "a stored answer is taken back", given: []string{store}, because: "a_stored_answer_stays",
			refused: `UPDATE idempotency_key SET status = NULL, body = NULL WHERE resource_id = @payment`,
			instead: `SELECT FROM idempotency_key WHERE resource_id = @payment FOR UPDATE`,
		},
		{
			name: "half an answer", because: "an_answer_is_whole_or_absent",
			refused: `UPDATE idempotency_key SET status = 201 WHERE resource_id = @payment`, instead: store,
		},
		{
			name:    "another request under a key",
			refused: `UPDATE idempotency_key SET fingerprint = sha256('x') WHERE resource_id = @payment`,
			because: noRight, instead: store,
		},
	}
}
