package schema_test

import (
	"fmt"
	"slices"
)

// late is the provider's word about a movement of its own name, after the fact.
func late(object string, minor int) string {
	return evidence{source: "webhook", verdict: "captured", minor: minor, currency: "TRY", object: object}.sql()
}

// opened opens the case, with its history. Its suspense is for the test to post.
func opened(kind, object string, minor int, plan string) []string {
	due, owner := "payonce_now()", "machine"
	if plan == "person" {
		due, owner = "NULL", "person"
	}
	return []string{
		fmt.Sprintf(`INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
			suspended, plan, waits_for, next_step_at) VALUES (@case, @payment, @operation, '%s', 'card', '%s', %d, 'TRY', true, '%s', '%s', %s)`,
			kind, object, minor, plan, owner, due),
		told(1, "open", plan, "machine"),
	}
}

// told is a line of the case's history.
func told(version int, state, plan, actor string) string {
	return fmt.Sprintf(`INSERT INTO payment_case_history (case_id, version, to_state, plan, actor, who, reason)
		VALUES (@case, %d, '%s', '%s', '%s', 'ada', 'seen')`, version, state, plan, actor)
}

// caseMoved moves the case to a version.
func caseMoved(version int, state, plan, resolution string) string {
	how := "NULL"
	if resolution != "" {
		how = "'" + resolution + "'"
	}
	return fmt.Sprintf(`UPDATE payment_case SET state = '%s', plan = '%s', resolution = %s, next_step_at = NULL, version = %d
		WHERE id = @case`, state, plan, how, version)
}

// refund orders an operation that gives back the case's money.
func refund(object string, minor int) string {
	return fmt.Sprintf(`INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, case_id, target_object_id)
		VALUES (@refund, @payment, 'refund', 'card', %d, 'TRY', @case, '%s')`, minor, object)
}

// given lets the refund get to succeeded.
func given() []string {
	return []string{
		`INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send)
			VALUES (@refund, 1, 'w', 'r', ` + at(0) + `, ` + at(10) + `, ` + at(15) + `)`,
		`UPDATE operation SET state = 'processing', fence = 1, lease_until = ` + at(10) + ` WHERE id = @refund`,
		`INSERT INTO evidence (id, operation_id, source, verdict, amount_minor, currency, asked_at, hash)
			SELECT gen_random_uuid(), id, 'inquiry', 'captured', amount_minor, currency, payonce_now(), sha256('') FROM operation WHERE id = @refund`,
		`UPDATE operation SET state = 'succeeded', lease_until = NULL WHERE id = @refund`,
	}
}

// twiceCharged is a charge that succeeded with ch_1, and a second one of the same name.
func twiceCharged(more ...string) []string {
	first := captured
	first.object = "ch_1"
	second := []string{
		first.sql(), `UPDATE operation SET state = 'succeeded', lease_until = NULL, provider_object_id = 'ch_1' WHERE id = @operation`,
		late("ch_2", 1000),
	}
	return claimed(slices.Concat(second, opened("captured_twice", "ch_2", 1000, "refund"), more)...)
}

// adoptions: a charge leaves failed only by its case, with the invoice in hand (U7).
func adoptions() []guard {
	because := "operation_move_is_proven"
	adopt := opened("captured_after_failed", "", 1000, "adopt")
	word := evidence{source: "webhook", verdict: "captured", minor: 1000, currency: "TRY"}.sql()
	// A charge of 10.00 of which the provider says that it took 9.99.
	wrong := slices.Concat([]string{
		evidence{source: "answer", verdict: "declined", fence: 1}.sql(), late("ch_1", 999), moved("unknown"),
	}, opened("amount_mismatch", "ch_1", 999, "person"))
	free := `DELETE FROM invoice_identity WHERE payment_id = @payment`
	return []guard{
		{name: "failed to succeeded without a case", given: failed(word), refused: succeed, because: because, proof: adopt},
		{
			name: "failed to succeeded by a case that shall be refunded", refused: succeed, because: because, instead: noted,
			given: failed(slices.Concat([]string{word}, opened("captured_after_failed", "", 1000, "refund"))...),
		},
		{
			name: "failed to succeeded by a case of another movement", because: because,
			given: failed(slices.Concat([]string{late("ch_1", 1000)}, opened("captured_after_failed", "ch_1", 1000, "adopt"))...), refused: succeed,
			instead: `UPDATE operation SET state = 'succeeded', provider_object_id = 'ch_1' WHERE id = @operation`,
		},
		{
			name: "failed to succeeded with another amount", refused: succeed, because: because, instead: noted,
			given: failed(slices.Concat([]string{late("ch_1", 999)}, opened("captured_after_failed", "ch_1", 999, "adopt"))...),
		},
		{
			name: "failed to succeeded while the invoice is not held", refused: succeed, because: because,
			given: failed(slices.Concat([]string{word, free}, adopt)...),
			proof: []string{`INSERT INTO invoice_identity (merchant_id, invoice_id, payment_type, payment_id)
				VALUES (@merchant, @invoice, 'invoice', @payment)`},
		},
		{
			name: "failed to succeeded while another payment holds the invoice", refused: succeed, because: because, instead: noted,
			given: failed(slices.Concat([]string{word, free, `INSERT INTO invoice_identity (merchant_id, invoice_id, payment_type, payment_id)
				VALUES (@merchant, @invoice, 'invoice', @other_payment)`}, adopt)...),
		},
		{
			name: "captured evidence of another amount forbids failed until it is given back", because: because,
			given:   claimed(slices.Concat(wrong, []string{refund("ch_1", 999)})...),
			refused: `UPDATE operation SET state = 'failed' WHERE id = @operation`, proof: given(),
		},
		{
			name: "what was given back is sent again", because: because, instead: `UPDATE operation SET state = 'failed' WHERE id = @operation`,
			given:   claimed(slices.Concat(wrong, []string{refund("ch_1", 999)}, given())...),
			refused: moved("created"),
		},
		{
			name: "a charge succeeds with what is being given back", because: because, refused: succeed,
			given: claimed(slices.Concat(wrong, []string{late("ch_1", 1000), refund("ch_1", 999)})...),
			proof: []string{late("ch_2", 1000)},
		},
	}
}

// cases: a case rests on evidence, moves with its history, and closes on proof.
func cases() []guard {
	birth, move := "a_case_rests_on_evidence", "case_move_is_proven"
	open := opened("captured_after_failed", "ch_1", 1000, "refund")
	lateFailed := func(more ...string) []string {
		return failed(slices.Concat([]string{late("ch_1", 1000)}, open, more)...)
	}
	dismiss := caseMoved(2, "dismissed", "refund", "")
	return []guard{
		{name: "a case without evidence", given: failed(), refused: open[0], because: birth, proof: []string{late("ch_1", 1000)}},
		{
			name: "a case of another amount than was said", given: failed(late("ch_1", 999)), refused: open[0], because: birth,
			proof: []string{late("ch_1", 1000)},
		},
		{name: "captured after failed of what has not failed", given: claimed(late("ch_1", 1000)), refused: open[0], because: birth, instead: noted},
		{
			name: "denied after captured without a denial", given: succeeded(), because: birth,
			refused: `INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, suspended, plan, waits_for)
				VALUES (@case, @payment, @operation, 'failed_after_captured', 'card', false, 'person', 'person')`,
			proof: []string{evidence{source: "inquiry", verdict: "not_taken", asked: 99, covers: true}.sql()},
		},
		{
			name: "the charge's own money in suspense", because: birth, instead: noted,
			given: twiceCharged(),
			refused: `INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
				suspended, plan, waits_for)
				VALUES (@other_case, @payment, @operation, 'captured_twice', 'card', 'ch_1', 1000, 'TRY', true, 'person', 'person')`,
		},
		{
			name: "a second suspense for one movement", because: "one_suspense_per_movement", instead: noted,
			given: lateFailed(late("ch_1", 999)),
			refused: `INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
				suspended, plan, waits_for)
				VALUES (@other_case, @payment, @operation, 'amount_mismatch', 'card', 'ch_1', 999, 'TRY', true, 'person', 'person')`,
		},
		{name: "dismissed without history", given: lateFailed(), refused: dismiss, because: move, proof: []string{told(2, "dismissed", "refund", "person")}},
		{
			name: "dismissed by the machine", given: lateFailed(told(2, "dismissed", "refund", "machine")), refused: dismiss, because: move,
			instead: noted,
		},
		{
			name: "a decision without a reason", given: lateFailed(), because: "payment_case_history_reason_check",
			instead: told(2, "open", "refund", "person"),
			refused: `INSERT INTO payment_case_history (case_id, version, to_state, plan, actor, who, reason)
				VALUES (@case, 2, 'dismissed', 'refund', 'person', 'ada', '')`,
		},
		{
			name: "a version is left out", given: lateFailed(told(3, "dismissed", "refund", "person")), because: move,
			refused: caseMoved(3, "dismissed", "refund", ""), instead: noted,
		},
		{
			name: "resolved as adopted although the charge failed", given: lateFailed(told(2, "resolved", "adopt", "machine")),
			refused: caseMoved(2, "resolved", "adopt", "adopted"), because: move, instead: noted,
		},
		{
			name: "resolved as corrected although the charge failed", given: lateFailed(told(2, "resolved", "refund", "machine")),
			refused: caseMoved(2, "resolved", "refund", "corrected"), because: move, instead: noted,
		},
		{
			name: "resolved as refunded before the refund succeeded", given: lateFailed(refund("ch_1", 1000), told(2, "resolved", "refund", "machine")),
			refused: caseMoved(2, "resolved", "refund", "refunded"), because: move, proof: given(),
		},
		{
			name: "at work without a refund", given: lateFailed(told(2, "working", "refund", "machine")),
			refused: caseMoved(2, "working", "refund", ""), because: move, proof: []string{refund("ch_1", 1000)},
		},
		{
			name: "dismissed while a refund is under way", given: lateFailed(refund("ch_1", 1000), told(2, "dismissed", "refund", "person")),
			refused: dismiss, because: move, instead: noted,
		},
		{
			name: "a closed case is opened again", because: move, instead: noted,
			given:   lateFailed(told(2, "dismissed", "refund", "person"), dismiss, told(3, "open", "person", "person")),
			refused: `UPDATE payment_case SET state = 'open', plan = 'person', waits_for = 'person', version = 3 WHERE id = @case`,
		},
		{
			name: "a movement is named twice", given: lateFailed(told(2, "open", "refund", "machine")), because: move, instead: noted,
			refused: `UPDATE payment_case SET provider_object_id = 'ch_9', version = 2 WHERE id = @case`,
		},
		{name: "changing a case's amount", given: lateFailed(), refused: `UPDATE payment_case SET amount_minor = 1`, because: noRight, instead: noted},
		{name: "rewriting a case's history", given: lateFailed(), refused: `UPDATE payment_case_history SET who = 'eve'`, because: noRight, instead: noted},
		{name: "deleting a case's history", given: lateFailed(), refused: `DELETE FROM payment_case_history`, because: noRight, instead: noted},
		{
			name: "a case whose money is nowhere", given: lateFailed(), refused: "SET CONSTRAINTS ALL IMMEDIATE", because: "suspense_agrees_with_its_case",
			instead: noted,
		},
	}
}

// compensations: what goes back is exactly the case's money, and once.
func compensations() []guard {
	const because = "a_compensation_gives_back_its_cases_money"
	good := refund("ch_2", 1000)
	again := `INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, case_id, target_object_id)
		VALUES (@other_refund, @payment, 'refund', 'card', 1000, 'TRY', @case, 'ch_2')`
	lost := `UPDATE operation SET state = 'failed' WHERE id = @refund`
	return []guard{
		{name: "a refund of more than the case", given: twiceCharged(), refused: refund("ch_2", 1001), because: because, instead: good},
		{name: "a refund of less than the case", given: twiceCharged(), refused: refund("ch_2", 999), because: because, instead: good},
		{name: "a refund of another movement", given: twiceCharged(), refused: refund("ch_1", 1000), because: because, instead: good},
		{name: "a second refund of a case", given: twiceCharged(good), refused: again, because: "operation_one_compensation_per_case", proof: []string{lost}},
		{
			name: "a second refund although the first one may have taken place", refused: again, because: because, instead: noted,
			given: twiceCharged(good, lost, `INSERT INTO evidence (id, operation_id, source, verdict, amount_minor, currency,
				asked_at, hash) VALUES (gen_random_uuid(), @refund, 'webhook', 'captured', 1000, 'TRY', payonce_now(), sha256(''))`),
		},
		{
			name: "a refund of what the charge succeeded with since", because: because, instead: noted,
			given: claimed(slices.Concat([]string{late("ch_1", 999), late("ch_1", 1000), moved("unknown")},
				opened("amount_mismatch", "ch_1", 999, "person"),
				[]string{`UPDATE operation SET state = 'succeeded', provider_object_id = 'ch_1' WHERE id = @operation`})...),
			refused: refund("ch_1", 999),
		},
		{
			name: "a refund of a case that acts on nothing", given: twiceCharged(), because: because, instead: good,
			refused: `INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, case_id)
				VALUES (@refund, @payment, 'refund', 'card', 1000, 'TRY', @case)`,
		},
		{
			name: "changing what a refund acts on", given: twiceCharged(good), because: noRight, instead: noted,
			refused: `UPDATE operation SET target_object_id = 'ch_1' WHERE id = @refund`,
		},
	}
}

// casePostings: suspense is booked for a case, and leaves it as the case ends.
func casePostings() []guard {
	const because = "a_posting_books_what_moved"
	named := `INSERT INTO ledger_account (code, currency) VALUES ('provider:card:clearing', 'TRY'), ('provider:card:suspense', 'TRY')
		ON CONFLICT DO NOTHING`
	owed := `INSERT INTO ledger_account (code, currency) VALUES ('merchant:' || @merchant::uuid || ':payable', 'TRY')`
	suspense := casePosting("operation", "suspense", "'provider:card:clearing'", "'provider:card:suspense'", 1000)
	reversal := casePosting("operation", "reversal", "'provider:card:suspense'", "'provider:card:clearing'", 1000)
	back := casePosting("refund", "movement", "'provider:card:suspense'", "'provider:card:clearing'", 1000)
	adoption := casePosting("operation", "adoption", "'provider:card:suspense'", "'merchant:' || @merchant::uuid || ':payable'", 1000)
	open := opened("captured_after_failed", "", 1000, "adopt")
	word := evidence{source: "webhook", verdict: "captured", minor: 1000, currency: "TRY"}.sql()
	adopted := func(more ...string) []string {
		return failed(slices.Concat([]string{word}, open, []string{named, owed, suspense, succeed, told(2, "resolved", "adopt", "machine"),
			caseMoved(2, "resolved", "adopt", "adopted")}, more)...)
	}
	return []guard{
		{
			name: "suspense without a case", given: failed(late("ch_1", 1000), named), because: "ledger_entry_purpose_check", instead: noted,
			refused: `INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
				VALUES (@operation, 'suspense', 1, 'provider:card:clearing', 'TRY', 1000), (@operation, 'suspense', 2, 'provider:card:suspense', 'TRY', -1000)`,
		},
		{
			name: "suspense of another amount", given: twiceCharged(named), because: because, instead: suspense,
			refused: casePosting("operation", "suspense", "'provider:card:clearing'", "'provider:card:suspense'", 999),
		},
		{
			name: "suspense the other way round", given: twiceCharged(named), because: because, instead: suspense,
			refused: casePosting("operation", "suspense", "'provider:card:suspense'", "'provider:card:clearing'", 1000),
		},
		{name: "suspense twice", given: twiceCharged(named, suspense), refused: suspense, because: "a_posting_is_booked_once", instead: noted},
		{
			name: "suspense taken back while the case is open", given: twiceCharged(named, suspense, told(2, "dismissed", "refund", "person")),
			refused: reversal, because: because, proof: []string{caseMoved(2, "dismissed", "refund", "")},
		},
		{
			name: "money given back before it was", given: twiceCharged(named, suspense, refund("ch_2", 1000)), refused: back, because: because,
			proof: given(),
		},
		{
			name: "money given back from another account", given: twiceCharged(slices.Concat([]string{named, suspense, refund("ch_2", 1000)}, given())...),
			refused: casePosting("refund", "movement", "'provider:card:clearing'", "'provider:card:suspense'", 1000), because: because, instead: back,
		},
		{
			name: "money given back under no case", given: twiceCharged(slices.Concat([]string{named, suspense, accounts, refund("ch_2", 1000)}, given())...),
			because: because, instead: back,
			refused: `INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
				VALUES (@refund, 'movement', 1, 'a', 'TRY', 1000), (@refund, 'movement', 2, 'b', 'TRY', -1000)`,
		},
		{
			name: "an adoption before it is one", because: because, instead: noted,
			given: failed(slices.Concat([]string{word}, open, []string{named, owed, suspense})...), refused: adoption,
		},
		{
			name: "an adopted charge is booked as a movement, too", given: adopted(adoption, accounts), refused: posting(1000, "TRY"),
			because: because, instead: noted,
		},
		{name: "an adoption is booked twice", given: adopted(adoption), refused: adoption, because: "a_posting_is_booked_once", instead: noted},
		{
			name: "a closed case with money in suspense", given: adopted(), refused: "SET CONSTRAINTS ALL IMMEDIATE",
			because: "suspense_agrees_with_its_case", proof: []string{adoption}, instead: noted,
		},
	}
}

// casePosting books money of the case. The accounts are SQL expressions.
func casePosting(of, purpose, debit, credit string, minor int) string {
	return fmt.Sprintf(`INSERT INTO ledger_entry (operation_id, purpose, case_id, line, account, currency, amount_minor)
		VALUES (@%[1]s, '%[2]s', @case, 1, %[3]s, 'TRY', %[5]d), (@%[1]s, '%[2]s', @case, 2, %[4]s, 'TRY', -%[5]d)`, of, purpose, debit, credit, minor)
}
