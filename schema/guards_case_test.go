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
		told(1, "", "open", plan, "machine"),
	}
}

// told is a line of the case's history.
func told(version int, from, to, plan, actor string) string {
	return fmt.Sprintf(`INSERT INTO payment_case_history (case_id, version, from_state, to_state, plan, actor, who, reason)
		VALUES (@case, %d, nullif('%s', ''), '%s', '%s', '%s', 'ada', 'seen')`, version, from, to, plan, actor)
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

// denied is the provider's later word that a movement is void.
func denied(object string) string {
	return evidence{source: "inquiry", verdict: "declined", object: object, asked: 200}.sql()
}

// adoptAs lets the charge succeed with a movement.
func adoptAs(object string) string {
	return fmt.Sprintf(`UPDATE operation SET state = 'succeeded', provider_object_id = '%s' WHERE id = @operation`, object)
}

// agreement is what a commit checks of a case.
const agreement = "a_case_agrees_with_money_and_operations"

// givenUp is a refund that is given up.
const givenUp = `UPDATE operation SET state = 'failed' WHERE id = @refund`

// named gives the case a name in its next version.
func named(object string) string {
	return fmt.Sprintf(`UPDATE payment_case SET provider_object_id = '%s', version = 2 WHERE id = @case`, object)
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
			instead: adoptAs("ch_1"),
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
			name: "failed to succeeded with a movement that the provider denies", because: because,
			given:   failed(slices.Concat([]string{late("ch_1", 1000), denied("ch_1")}, opened("captured_after_failed", "ch_1", 1000, "adopt"))...),
			refused: adoptAs("ch_1"),
			proof:   []string{evidence{source: "inquiry", verdict: "captured", minor: 1000, currency: "TRY", object: "ch_1", asked: 300}.sql()},
		},
		{
			name: "failed to succeeded with what may have been given back", because: because, instead: noted,
			given: failed(slices.Concat([]string{late("ch_1", 1000)}, opened("captured_after_failed", "ch_1", 1000, "adopt"), []string{
				refund("ch_1", 1000), givenUp, evidence{of: "refund", source: "inquiry", verdict: "pending"}.sql(),
			})...),
			refused: adoptAs("ch_1"),
		},
		{
			name: "captured evidence of another amount forbids failed until its case is dismissed", because: because,
			given: claimed(wrong...), refused: `UPDATE operation SET state = 'failed' WHERE id = @operation`,
			proof: []string{told(2, "open", "dismissed", "person", "person"), caseMoved(2, "dismissed", "person", "")},
		},
		{
			name: "what was dismissed is sent again", because: because, instead: `UPDATE operation SET state = 'failed' WHERE id = @operation`,
			given: claimed(slices.Concat(wrong, []string{
				told(2, "open", "dismissed", "person", "person"), caseMoved(2, "dismissed", "person", ""),
			})...),
			refused: moved("created"),
		},
		{
			name: "a charge succeeds without a name while something of it is given back", because: because, refused: succeed,
			given: claimed(slices.Concat(wrong, []string{word, refund("ch_1", 999)})...), proof: []string{givenUp},
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
	word := evidence{source: "webhook", verdict: "captured", minor: 1000, currency: "TRY"}.sql()
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
			name: "the money of a charge that succeeded without a name in suspense", because: birth, instead: noted,
			given: succeeded(), refused: opened("captured_twice", "", 1000, "refund")[0],
		},
		{
			name: "a case gets a name that nobody said", because: move, refused: named("ch_1"),
			given: failed(slices.Concat([]string{word}, opened("captured_after_failed", "", 1000, "person"),
				[]string{late("ch_1", 999), told(2, "open", "open", "person", "machine")})...),
			proof: []string{late("ch_1", 1000)},
		},
		{
			name: "a case gets the name of what the charge succeeded with", because: move, refused: named("ch_1"), instead: named("ch_2"),
			given: failed(slices.Concat([]string{word}, opened("captured_after_failed", "", 1000, "adopt"),
				[]string{late("ch_1", 1000), late("ch_2", 1000), adoptAs("ch_1"), told(2, "open", "open", "adopt", "machine")})...),
		},
		{
			name: "a second suspense for an amount without a name", because: "one_suspense_per_unnamed_amount", instead: noted,
			given: failed(slices.Concat([]string{word}, opened("captured_after_failed", "", 1000, "person"))...),
			refused: `INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
				suspended, plan, waits_for)
				VALUES (@other_case, @payment, @operation, 'captured_after_failed', 'card', '', 1000, 'TRY', true, 'person', 'person')`,
		},
		{
			name: "a history that begins elsewhere", given: lateFailed(told(2, "working", "dismissed", "refund", "person")), because: move,
			refused: dismiss, instead: noted,
		},
		{
			name: "a second suspense for one movement", because: "one_suspense_per_movement", instead: noted,
			given: lateFailed(late("ch_1", 999)),
			refused: `INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
				suspended, plan, waits_for)
				VALUES (@other_case, @payment, @operation, 'amount_mismatch', 'card', 'ch_1', 999, 'TRY', true, 'person', 'person')`,
		},
		{
			name: "dismissed without history", given: lateFailed(), refused: dismiss, because: move,
			proof: []string{told(2, "open", "dismissed", "refund", "person")},
		},
		{
			name: "dismissed by the machine", given: lateFailed(told(2, "open", "dismissed", "refund", "machine")), refused: dismiss, because: move,
			instead: noted,
		},
		{
			name: "a decision without a reason", given: lateFailed(), because: "payment_case_history_reason_check",
			instead: told(2, "open", "open", "refund", "person"),
			refused: `INSERT INTO payment_case_history (case_id, version, to_state, plan, actor, who, reason)
				VALUES (@case, 2, 'dismissed', 'refund', 'person', 'ada', '')`,
		},
		{
			name: "a version is left out", given: lateFailed(told(3, "open", "dismissed", "refund", "person")), because: move,
			refused: caseMoved(3, "dismissed", "refund", ""), instead: noted,
		},
		{
			name: "resolved as adopted although the charge failed", given: lateFailed(told(2, "open", "resolved", "adopt", "machine")),
			refused: caseMoved(2, "resolved", "adopt", "adopted"), because: move, instead: noted,
		},
		{
			name: "resolved as corrected although the charge failed", given: lateFailed(told(2, "open", "resolved", "refund", "machine")),
			refused: caseMoved(2, "resolved", "refund", "corrected"), because: move, instead: noted,
		},
		{
			name: "resolved as refunded before the refund succeeded", given: lateFailed(refund("ch_1", 1000), told(2, "open", "resolved", "refund", "machine")),
			refused: caseMoved(2, "resolved", "refund", "refunded"), because: move, proof: given(),
		},
		{
			name: "at work without a refund", given: lateFailed(told(2, "open", "working", "refund", "machine")),
			refused: caseMoved(2, "working", "refund", ""), because: move, proof: []string{refund("ch_1", 1000)},
		},
		{
			name: "dismissed while a refund is under way", given: lateFailed(refund("ch_1", 1000), told(2, "open", "dismissed", "refund", "person")),
			refused: dismiss, because: move, instead: noted,
		},
		{
			name: "a closed case is opened again", because: move, instead: noted,
			given:   lateFailed(told(2, "open", "dismissed", "refund", "person"), dismiss, told(3, "dismissed", "open", "person", "person")),
			refused: `UPDATE payment_case SET state = 'open', plan = 'person', waits_for = 'person', version = 3 WHERE id = @case`,
		},
		{
			name: "a movement is named twice", given: lateFailed(told(2, "open", "open", "refund", "machine")), because: move, instead: noted,
			refused: `UPDATE payment_case SET provider_object_id = 'ch_9', version = 2 WHERE id = @case`,
		},
		{name: "changing a case's amount", given: lateFailed(), refused: `UPDATE payment_case SET amount_minor = 1`, because: noRight, instead: noted},
		{name: "rewriting a case's history", given: lateFailed(), refused: `UPDATE payment_case_history SET who = 'eve'`, because: noRight, instead: noted},
		{name: "deleting a case's history", given: lateFailed(), refused: `DELETE FROM payment_case_history`, because: noRight, instead: noted},
		{
			name: "a case whose money is nowhere", given: lateFailed(), refused: "SET CONSTRAINTS ALL IMMEDIATE", because: agreement,
			instead: noted,
		},
	}
}
