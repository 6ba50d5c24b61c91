package schema_test

import (
	"fmt"
	"slices"
)

// compensations: what goes back is exactly the case's money, and once.
func compensations() []guard {
	const because = "a_compensation_gives_back_its_cases_money"
	good := refund("ch_2", 1000)
	suspense := casePosting("operation", "suspense", "'provider:card:clearing'", "'provider:card:suspense'", 1000)
	again := `INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, case_id, target_object_id)
		VALUES (@other_refund, @payment, 'refund', 'card', 1000, 'TRY', @case, 'ch_2')`
	return []guard{
		{name: "a refund of more than the case", given: twiceCharged(), refused: refund("ch_2", 1001), because: because, instead: good},
		{name: "a refund of less than the case", given: twiceCharged(), refused: refund("ch_2", 999), because: because, instead: good},
		{name: "a refund of another movement", given: twiceCharged(), refused: refund("ch_1", 1000), because: because, instead: good},
		{
			name: "a second refund of a case", given: twiceCharged(good), refused: again, because: "operation_one_compensation_per_case",
			proof: []string{givenUp},
		},
		{
			name: "a second refund although the first one may have taken place", refused: again, because: because, instead: noted,
			given: twiceCharged(good, givenUp, `INSERT INTO evidence (id, operation_id, source, verdict, amount_minor, currency,
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
			name: "a refund of the only movement that a charge which succeeded without a name can be", because: because,
			given: failed(slices.Concat([]string{late("ch_1", 1000), evidence{source: "webhook", verdict: "captured", minor: 1000, currency: "TRY"}.sql()},
				opened("captured_after_failed", "ch_1", 1000, "adopt"), []string{other("captured_after_failed", "", "adopt"), succeed})...),
			refused: refund("ch_1", 1000), proof: []string{late("ch_2", 1000)},
		},
		{
			name: "a refund is sent although an earlier one may have taken place", because: "a_case_gives_back_once", instead: noted,
			given: twiceCharged(good, givenUp, again, evidence{of: "refund", source: "webhook", verdict: "captured", minor: 1000, currency: "TRY"}.sql(),
				`INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send)
					VALUES (@other_refund, 1, 'w', 'r', `+at(0)+`, `+at(10)+`, `+at(15)+`)`),
			refused: `UPDATE operation SET state = 'processing', fence = 1, lease_until = ` + at(10) + ` WHERE id = @other_refund`,
		},
		{
			name: "a refund that its case knows nothing of", because: agreement, refused: "SET CONSTRAINTS ALL IMMEDIATE", instead: noted,
			given: twiceCharged(caseAccounts, suspense, good),
		},
		{
			name: "a refund succeeds while its case is at work", because: agreement, refused: "SET CONSTRAINTS ALL IMMEDIATE", instead: noted,
			given: twiceCharged(slices.Concat([]string{caseAccounts, suspense, good, told(2, "open", "working", "refund", "machine"),
				caseMoved(2, "working", "refund", "")}, given())...),
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
	owed := `INSERT INTO ledger_account (code, currency) VALUES ('merchant:' || @merchant::uuid || ':payable', 'TRY')`
	suspense := casePosting("operation", "suspense", "'provider:card:clearing'", "'provider:card:suspense'", 1000)
	reversal := casePosting("operation", "reversal", "'provider:card:suspense'", "'provider:card:clearing'", 1000)
	back := casePosting("refund", "movement", "'provider:card:suspense'", "'provider:card:clearing'", 1000)
	adoption := casePosting("operation", "adoption", "'provider:card:suspense'", "'merchant:' || @merchant::uuid || ':payable'", 1000)
	open := opened("captured_after_failed", "", 1000, "adopt")
	word := evidence{source: "webhook", verdict: "captured", minor: 1000, currency: "TRY"}.sql()
	adopted := func(more ...string) []string {
		return failed(slices.Concat([]string{word}, open, []string{caseAccounts, owed, suspense, succeed, told(2, "open", "resolved", "adopt", "machine"),
			caseMoved(2, "resolved", "adopt", "adopted")}, more)...)
	}
	return []guard{
		{
			name: "suspense without a case", given: failed(late("ch_1", 1000), caseAccounts), because: "ledger_entry_purpose_check", instead: noted,
			refused: `INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
				VALUES (@operation, 'suspense', 1, 'provider:card:clearing', 'TRY', 1000), (@operation, 'suspense', 2, 'provider:card:suspense', 'TRY', -1000)`,
		},
		{
			name: "suspense of another amount", given: twiceCharged(caseAccounts), because: because, instead: suspense,
			refused: casePosting("operation", "suspense", "'provider:card:clearing'", "'provider:card:suspense'", 999),
		},
		{
			name: "suspense the other way round", given: twiceCharged(caseAccounts), because: because, instead: suspense,
			refused: casePosting("operation", "suspense", "'provider:card:suspense'", "'provider:card:clearing'", 1000),
		},
		{name: "suspense twice", given: twiceCharged(caseAccounts, suspense), refused: suspense, because: "a_posting_is_booked_once", instead: noted},
		{
			name: "suspense taken back while the case is open", given: twiceCharged(caseAccounts, suspense, told(2, "open", "dismissed", "refund", "person")),
			refused: reversal, because: because, proof: []string{caseMoved(2, "dismissed", "refund", "")},
		},
		{
			name: "money given back before it was", given: twiceCharged(caseAccounts, suspense, refund("ch_2", 1000)), refused: back, because: because,
			proof: given(),
		},
		{
			name:    "money given back from another account",
			given:   twiceCharged(slices.Concat([]string{caseAccounts, suspense, refund("ch_2", 1000)}, given())...),
			refused: casePosting("refund", "movement", "'provider:card:clearing'", "'provider:card:suspense'", 1000), because: because, instead: back,
		},
		{
			name:    "money given back under no case",
			given:   twiceCharged(slices.Concat([]string{caseAccounts, suspense, accounts, refund("ch_2", 1000)}, given())...),
			because: because, instead: back,
			refused: `INSERT INTO ledger_entry (operation_id, purpose, line, account, currency, amount_minor)
				VALUES (@refund, 'movement', 1, ` + owedAccount + `, 'TRY', 1000), (@refund, 'movement', 2, ` + clearing + `, 'TRY', -1000)`,
		},
		{
			name: "an adoption before it is one", because: because, instead: noted,
			given: failed(slices.Concat([]string{word}, open, []string{caseAccounts, owed, suspense})...), refused: adoption,
		},
		{
			name: "an adopted charge is booked as a movement, too", given: adopted(adoption, accounts), refused: posting(1000, "TRY"),
			because: because, instead: noted,
		},
		{
			name: "a charge that is booked as a movement is adopted, too", given: adopted(accounts, posting(1000, "TRY")), refused: adoption,
			because: because, instead: noted,
		},
		{name: "an adoption is booked twice", given: adopted(adoption), refused: adoption, because: "a_posting_is_booked_once", instead: noted},
		{
			name: "a closed case with money in suspense", given: adopted(), refused: "SET CONSTRAINTS ALL IMMEDIATE",
			because: agreement, proof: []string{adoption}, instead: noted,
		},
	}
}

// caseAccounts are the accounts of cases.
const caseAccounts = `INSERT INTO ledger_account (code, currency) VALUES ('provider:card:clearing', 'TRY'), ('provider:card:suspense', 'TRY')
	ON CONFLICT DO NOTHING`

// other opens one more case.
func other(kind, object, plan string) string {
	return fmt.Sprintf(`INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
		suspended, plan, waits_for, next_step_at)
		VALUES (@other_case, @payment, @operation, '%s', 'card', '%s', 1000, 'TRY', true, '%s', 'machine', payonce_now())`, kind, object, plan)
}

// casePosting caseAccounts money of the case. The accounts are SQL expressions.
func casePosting(of, purpose, debit, credit string, minor int) string {
	return fmt.Sprintf(`INSERT INTO ledger_entry (operation_id, purpose, case_id, line, account, currency, amount_minor)
		VALUES (@%[1]s, '%[2]s', @case, 1, %[3]s, 'TRY', %[5]d), (@%[1]s, '%[2]s', @case, 2, %[4]s, 'TRY', -%[5]d)`, of, purpose, debit, credit, minor)
}
