package schema_test

import (
	"fmt"
	"slices"
)

// refundable is a payment that was captured with the provider's movement ch_1.
func refundable(more ...string) []string {
	return claimed(append([]string{
		captured.sql(), `UPDATE operation SET state = 'succeeded', provider_object_id = 'ch_1', lease_until = NULL WHERE id = @operation`,
		shown("captured"),
	}, more...)...)
}

// asked is a merchant's refund of an amount.
func asked(of, reference string, minor int, target string) string {
	return fmt.Sprintf(`INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, target_object_id, refund_reference,
		trace_parent, correlation_id, idempotency_key)
		VALUES (@%s, @payment, 'refund', 'card', %d, 'TRY', '%s', '%s', '', '', 'key')`, of, minor, target, reference)
}

// counted sets the payment's sum of refunds.
func counted(minor int) string {
	return fmt.Sprintf(`UPDATE payment SET refunded_minor = %d WHERE id = @payment`, minor)
}

// refundMoved takes the refund through one attempt to an end.
func refundMoved(verdict, state string) []string {
	return []string{
		`INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send)
			VALUES (@refund, 1, 'w', 'r', ` + at(0) + `, ` + at(10) + `, ` + at(15) + `)`,
		`UPDATE operation SET state = 'processing', fence = 1, lease_until = ` + at(10) + ` WHERE id = @refund`,
		fmt.Sprintf(`INSERT INTO evidence (id, operation_id, fence, source, verdict, amount_minor, currency, asked_at, hash)
			VALUES (gen_random_uuid(), @refund, 1, 'answer', '%s', 400, 'TRY', %s, sha256(''))`, verdict, at(1)),
		fmt.Sprintf(`UPDATE operation SET state = '%s', lease_until = NULL WHERE id = @refund`, state),
	}
}

const (
	atCommit   = "SET CONSTRAINTS ALL IMMEDIATE"
	lateRefund = `INSERT INTO evidence (id, operation_id, source, verdict, amount_minor, currency, asked_at, hash, provider_object_id)
		VALUES (gen_random_uuid(), @refund, 'inquiry', 'captured', 400, 'TRY', payonce_now(), sha256(''), 're_1')`
	lateRefunded = `UPDATE operation SET state = 'succeeded', provider_object_id = 're_1' WHERE id = @refund`
	refundCase   = `INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
		suspended, plan, waits_for, next_step_at)
		VALUES (@case, @payment, @refund, 'captured_after_failed', 'card', 're_1', 400, 'TRY', true, 'adopt', 'machine', payonce_now())`
	refundAccounts = `INSERT INTO ledger_account (code, currency) VALUES ('provider:card:clearing', 'TRY'), ('provider:card:suspense', 'TRY'),
		('merchant:' || @merchant::uuid || ':payable', 'TRY') ON CONFLICT DO NOTHING`
)

// refundPosting books the refund. The accounts are SQL expressions.
func refundPosting(debit, credit string) string {
	return fmt.Sprintf(`INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
		VALUES (@refund, 'movement', 1, %s, 'TRY', 400), (@refund, 'movement', 2, %s, 'TRY', -400)`, debit, credit)
}

const (
	owedAccount = "'merchant:' || @merchant::uuid || ':payable'"
	clearing    = "'provider:card:clearing'"
	suspended   = "'provider:card:suspense'"
)

// refunds: a merchant's refund is of captured money, within it, and under one name.
func refunds() []guard {
	good := asked("refund", "R-1", 400, "ch_1")
	const (
		captureOnly = "a_refund_gives_back_what_was_captured"
		sums        = "a_payment_counts_its_refunds"
	)
	return []guard{
		{
			name: "I15: a refund of a payment that was not captured", given: claimed(), refused: good, because: captureOnly,
			proof: []string{
				captured.sql(), `UPDATE operation SET state = 'succeeded', provider_object_id = 'ch_1', lease_until = NULL WHERE id = @operation`,
			},
		},
		{
			name: "I15: a refund of another movement than the charge's", given: refundable(), because: captureOnly, instead: good,
			refused: asked("refund", "R-1", 400, "ch_2"),
		},
		{
			name: "I15: a refund of more than was captured", given: refundable(), refused: asked("refund", "R-1", 1001, "ch_1"),
			because: "an_operation_moves_its_payments_money", instead: asked("refund", "R-1", 1000, "ch_1"),
		},
		{
			name: "I15: a refund without a reference", given: refundable(), because: "a_refund_serves_a_merchant_or_a_case", instead: good,
			refused: `INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, target_object_id)
				VALUES (@refund, @payment, 'refund', 'card', 400, 'TRY', 'ch_1')`,
		},
		{
			name: "I15: a reference twice, although the first refund failed", because: "operation_one_refund_per_reference",
			given:   refundable(slices.Concat([]string{good}, refundMoved("declined", "failed"))...),
			refused: asked("other_refund", "R-1", 400, "ch_1"), instead: asked("other_refund", "R-2", 400, "ch_1"),
		},
		{
			name: "I15: another reference for a refund", given: refundable(good), because: noRight, instead: noted,
			refused: `UPDATE operation SET refund_reference = 'R-2' WHERE id = @refund`,
		},
		{
			name: "I15: a refund that its payment does not count", given: refundable(good), refused: atCommit, because: sums, instead: noted,
			proof: []string{counted(400)},
		},
		{
			name: "I15: a payment that counts what is not there", given: refundable(counted(400)), refused: atCommit, because: sums, instead: noted,
			proof: []string{good},
		},
		{
			name: "I15: refunds of more than was captured, together", given: refundable(good, asked("other_refund", "R-2", 601, "ch_1")),
			refused: counted(1001), because: "payment_check", instead: counted(1000),
		},
		{
			name: "I15: a refund that failed and is counted on", because: sums, instead: noted, refused: atCommit,
			given: refundable(slices.Concat([]string{good, counted(400)}, refundMoved("declined", "failed"))...), proof: []string{counted(0)},
		},
		{
			name: "P4: a refund that took place and is not booked", because: "a_refund_that_took_place_is_booked", refused: atCommit, instead: noted,
			given: refundable(slices.Concat([]string{good, counted(400), refundAccounts}, refundMoved("captured", "succeeded"))...),
			proof: []string{refundPosting(owedAccount, clearing)},
		},
		{
			name: "L1: a refund that is booked as a charge", because: "a_posting_books_what_moved", refused: refundPosting(clearing, owedAccount),
			given:   refundable(slices.Concat([]string{good, counted(400), refundAccounts}, refundMoved("captured", "succeeded"))...),
			instead: refundPosting(owedAccount, clearing),
		},
		{
			name: "U7: a failed refund that took place, without a case", because: "operation_move_is_proven", refused: lateRefunded,
			given: refundable(slices.Concat([]string{good, counted(400)}, refundMoved("declined", "failed"), []string{lateRefund})...),
			proof: []string{refundCase},
		},
		{
			name: "U7: a refund's late money stands in suspense as a charge's would", because: "a_posting_books_what_moved",
			given:   refundable(slices.Concat([]string{good, refundAccounts}, refundMoved("declined", "failed"), []string{lateRefund, refundCase})...),
			refused: casePosting("refund", "suspense", clearing, suspended, 400), instead: casePosting("refund", "suspense", suspended, clearing, 400),
		},
		{
			name: "U7: a refund is given back", because: "a_compensation_gives_back_its_cases_money", instead: noted,
			given: refundable(slices.Concat([]string{good}, refundMoved("declined", "failed"), []string{lateRefund, refundCase})...),
			refused: `INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, case_id, target_object_id)
				VALUES (@other_refund, @payment, 'refund', 'card', 400, 'TRY', @case, 're_1')`,
		},
		{
			name: "I4: an open refund loses its key", because: "an_open_refund_keeps_its_key",
			given: refundable(good, `INSERT INTO idempotency_key (merchant_id, route, key, fingerprint, fields, resource_id, created_at)
				VALUES (@merchant, 'refunds', 'key', sha256(''), '{}', @refund, payonce_now() - interval '2 days')`),
			refused: `DELETE FROM idempotency_key WHERE resource_id = @refund`, proof: refundMoved("declined", "failed"),
		},
	}
}
