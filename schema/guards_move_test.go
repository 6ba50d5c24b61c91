package schema_test

// captures: entering succeeded needs captured evidence of this operation with
// this amount and this currency (U5).
func captures() []guard {
	otherAmount, otherCurrency, otherOperation := captured, captured, captured
	otherAmount.minor, otherCurrency.currency = 999, "USD"
	otherOperation.of, otherOperation.fence, otherOperation.source = "other_operation", 0, "inquiry"
	because := "operation_move_is_proven"
	return []guard{
		{
			name: "processing to succeeded without evidence", given: claimed(), refused: succeed, because: because,
			proof: []string{captured.sql()},
		},
		{
			name: "processing to succeeded with another amount", given: claimed(otherAmount.sql()),
			refused: succeed, because: because, proof: []string{captured.sql()},
		},
		{
			name: "processing to succeeded with another currency", given: claimed(otherCurrency.sql()),
			refused: succeed, because: because, proof: []string{captured.sql()},
		},
		{
			name: "processing to succeeded with another operation's evidence", given: claimed(otherOperation.sql()),
			refused: succeed, because: because, proof: []string{captured.sql()},
		},
		{
			name:    "processing to succeeded on pending evidence",
			given:   claimed(evidence{source: "answer", verdict: "pending", fence: 1}.sql()),
			refused: succeed, because: because, proof: []string{captured.sql()},
		},
		{
			name:  "processing to succeeded on captured evidence without an amount",
			given: claimed(evidence{source: "answer", verdict: "captured", fence: 1}.sql()), refused: succeed, because: because,
			proof: []string{evidence{source: "webhook", verdict: "captured", minor: 1000, currency: "TRY"}.sql()},
		},
		{
			name:    "created to succeeded, whatever the evidence",
			given:   claimed(finished(1, true), moved("created"), captured.sql()),
			refused: succeed, because: because, proof: []string{moved("unknown")},
		},
		{
			name: "failed to succeeded, whatever the evidence", given: failed(captured.sql()), refused: succeed, because: because,
			instead: noted,
		},
		{
			name: "succeeded to failed", given: succeeded(), because: because,
			refused: `UPDATE operation SET state = 'failed' WHERE id = @operation`,
			instead: noted,
		},
		{
			name: "pending without pending evidence", given: claimed(), refused: moved("pending"), because: because,
			proof: []string{evidence{source: "answer", verdict: "pending", fence: 1}.sql()},
		},
		{
			name: "an unknown operation on the due list", given: []string{captured.ofNoAttempt().sql()}, refused: moved("unknown"),
			because: "only_what_waits_to_be_sent_is_due",
			proof:   []string{`UPDATE operation SET next_attempt_at = NULL WHERE id = @operation`},
		},
		{
			name:    "created to unknown on no evidence",
			given:   []string{`UPDATE operation SET next_attempt_at = NULL WHERE id = @operation`},
			refused: moved("unknown"), because: because, proof: []string{evidence{source: "webhook", verdict: "pending"}.sql()},
		},
	}
}

func (e evidence) ofNoAttempt() evidence {
	e.source, e.fence = "webhook", 0
	return e
}

// failures: entering failed needs every attempt covered (P3, "Cover").
func failures() []guard {
	const fail = `UPDATE operation SET state = 'failed', lease_until = NULL WHERE id = @operation`
	because := "operation_move_is_proven"
	declined := evidence{source: "answer", verdict: "declined", fence: 1}.sql()
	// The last possible send of the first attempt is at 15 s, of the second at 115 s.
	notTaken := evidence{source: "inquiry", verdict: "not_taken", asked: 15, covers: true}
	early, uncovering := notTaken, notTaken
	early.asked, uncovering.covers = 14, false
	pending := evidence{source: "inquiry", verdict: "pending", asked: 20}.sql()
	later := notTaken
	later.asked = 21
	return []guard{
		{name: "processing to failed without cover", given: claimed(), refused: fail, because: because, proof: []string{declined}},
		{
			name: "processing to failed: own trace as proof", given: claimed(), refused: fail, because: because,
			proof: []string{finished(1, true)},
		},
		{
			name:    "an unclear answer covers nothing",
			given:   claimed(evidence{source: "answer", verdict: "unclear", fence: 1}.sql(), finished(1, false)),
			refused: fail, because: because, proof: []string{declined},
		},
		{
			name:  "an inquiry before the last possible send covers nothing",
			given: claimed(early.sql()), refused: fail, because: because, proof: []string{notTaken.sql()},
		},
		{
			name:  "an inquiry that is not authoritative covers nothing",
			given: claimed(uncovering.sql()), refused: fail, because: because, proof: []string{notTaken.sql()},
		},
		{
			name:  "a webhook's decline covers nothing",
			given: claimed(evidence{source: "webhook", verdict: "declined", asked: 500}.sql()), refused: fail, because: because,
			proof: []string{declined},
		},
		{
			name:  "a decline of the second attempt leaves the first one uncovered",
			given: twice(evidence{source: "answer", verdict: "declined", fence: 2}.sql()), refused: fail, because: because,
			proof: []string{declined},
		},
		{
			name:  "a decline of the second attempt covers the first one where the provider serialises keys",
			given: twice(), refused: fail, because: because,
			proof: []string{evidence{source: "answer", verdict: "declined", fence: 2, coversEarlier: true}.sql()},
		},
		{
			name:    "a decline of the first attempt never covers the second one",
			given:   twice(evidence{source: "answer", verdict: "declined", fence: 1, coversEarlier: true}.sql()),
			refused: fail, because: because, proof: []string{finished(2, true)},
		},
		{
			name:  "an inquiry covers the attempts before it only",
			given: twice(notTaken.sql()), refused: fail, because: because,
			proof: []string{evidence{source: "inquiry", verdict: "declined", asked: 115, covers: true}.sql()},
		},
		{
			name:    "another operation's decline covers nothing",
			given:   claimed(evidence{source: "inquiry", verdict: "declined", of: "other_operation", asked: 500, covers: true}.sql()),
			refused: fail, because: because, proof: []string{notTaken.sql()},
		},
		{
			name:    "captured evidence forbids failed, also with another amount",
			given:   claimed(declined, evidence{source: "webhook", verdict: "captured", minor: 999, currency: "TRY"}.sql()),
			refused: fail, because: because, instead: moved("unknown"),
		},
		{
			name:  "pending evidence forbids failed until a later no",
			given: claimed(declined, pending, moved("pending")), refused: fail, because: because, proof: []string{later.sql()},
		},
	}
}

// returns: going back to created needs every attempt covered, and leaving
// created for good needs the door closed behind each (DESIGN, "States").
func returns() []guard {
	const (
		fail   = `UPDATE operation SET state = 'failed', next_attempt_at = NULL WHERE id = @operation`
		cancel = `UPDATE operation SET state = 'canceled', next_attempt_at = NULL WHERE id = @operation`
	)
	because := "operation_move_is_proven"
	notTaken := evidence{source: "answer", verdict: "not_taken", fence: 1}.sql()
	back := claimed(notTaken, moved("created"))
	inquiry := evidence{source: "inquiry", verdict: "not_taken", asked: 500, covers: true}.sql()
	otherAmount := evidence{source: "inquiry", verdict: "captured", asked: 20, minor: 999, currency: "TRY"}.sql()
	early := evidence{source: "closure", verdict: "not_taken", asked: 14, covers: true}.sql()
	door := evidence{source: "closure", verdict: "not_taken", asked: 15, covers: true}.sql()
	return []guard{
		{
			name: "processing to created without cover", given: claimed(), refused: moved("created"), because: because,
			proof: []string{notTaken},
		},
		{
			name: "unknown to created with one of two attempts uncovered", given: twice(finished(2, true)),
			refused: moved("created"),
			because: because, proof: []string{inquiry},
		},
		{
			name: "unknown to created with captured evidence", because: because, refused: moved("created"),
			given:   claimed(notTaken, otherAmount, moved("unknown")),
			instead: noted,
		},
		{
			name:    "pending to created",
			given:   claimed(evidence{source: "answer", verdict: "pending", fence: 1}.sql(), moved("pending"), inquiry),
			refused: moved("created"), because: because, proof: []string{moved("unknown")},
		},
		{
			name: "created to failed after not taken with the door open", given: back, refused: fail, because: because,
			proof: []string{door},
		},
		{
			name: "created to canceled after not taken with the door open", given: back, refused: cancel, because: because,
			proof: []string{door},
		},
		{name: "an inquiry closes no door", given: append(back, inquiry), refused: cancel, because: because, proof: []string{door}},
		{
			name: "a door closed before the last possible send", given: append(back, early), refused: fail, because: because,
			proof: []string{door},
		},
		{
			name: "a late decline is as good as a closed door", given: back, refused: fail, because: because,
			proof: []string{evidence{source: "answer", verdict: "declined", fence: 1}.sql()},
		},
		{
			name: "created to canceled while the provider may hold it", because: because, refused: cancel,
			given: []string{evidence{source: "webhook", verdict: "pending", asked: 20}.sql()},
			proof: []string{evidence{source: "inquiry", verdict: "not_taken", asked: 21}.sql()},
		},
		{
			name: "created to failed with captured evidence", given: []string{captured.ofNoAttempt().sql()}, refused: fail,
			because: because, instead: lateTruth,
		},
		{
			name: "processing to canceled", given: claimed(finished(1, true)), because: because,
			refused: `UPDATE operation SET state = 'canceled', lease_until = NULL WHERE id = @operation`, instead: moved("created"),
		},
	}
}

// claims: a possible send is recorded, fenced and leased, or does not happen.
func claims() []guard {
	because := "operation_move_is_proven"
	claim := leased("processing", 1, 0)
	pending := evidence{source: "webhook", verdict: "pending", asked: 20}.sql()
	return []guard{
		{
			name: "the fence falls", given: claimed(), because: because,
			refused: `UPDATE operation SET fence = 0 WHERE id = @operation`,
			instead: `UPDATE operation SET fence = 2, lease_until = NULL, state = 'unknown', next_check_at = payonce_now()
				WHERE id = @operation`,
		},
		{
			name: "a claim without a new fence", given: claimed(finished(1, true), moved("created")), because: because,
			refused: claim, proof: []string{recorded(2, 100)}, instead: leased("processing", 2, 100),
		},
		{
			name: "a claim while captured evidence exists", given: []string{captured.ofNoAttempt().sql(), recorded(1, 0)},
			because: because, refused: claim,
			instead: lateTruth,
		},
		{
			name:    "a claim while pending evidence is newer than the no",
			given:   []string{pending, evidence{source: "inquiry", verdict: "not_taken", asked: 20}.sql(), recorded(1, 0)},
			because: because, refused: claim, proof: []string{evidence{source: "inquiry", verdict: "not_taken", asked: 21}.sql()},
		},
		{
			name: "processing without a lease", given: []string{recorded(1, 0)}, because: "processing_has_a_lease",
			refused: `UPDATE operation SET state = 'processing', fence = 1, next_attempt_at = NULL WHERE id = @operation`,
			instead: claim,
		},
		{
			name: "a claim without its attempt", because: "a_lease_has_its_attempt", refused: claim,
			proof: []string{recorded(1, 0)},
		},
		{
			name: "a resend without its attempt", given: claimed(moved("unknown")), because: "a_lease_has_its_attempt",
			refused: leased("unknown", 2, 100), proof: []string{recorded(2, 100)},
		},
		{
			name: "a lease beyond that of its attempt", given: []string{recorded(1, 0)}, because: "a_lease_has_its_attempt",
			refused: leased("processing", 1, 1), instead: claim,
		},
		{
			name: "a lease for an attempt that is finished", given: claimed(finished(1, true), moved("unknown")),
			because: "a_lease_has_its_attempt",
			refused: leased("unknown", 1, 0), proof: []string{recorded(2, 100)}, instead: leased("unknown", 2, 100),
		},
		{
			name: "an attempt that is born proven", because: "an_attempt_is_born_open",
			refused: `INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, not_sent)
				VALUES (@operation, 1, 'w', 'r', payonce_now(), payonce_now(), payonce_now(), true)`,
			instead: recorded(1, 0),
		},
		{
			name: "an attempt that is born finished", because: "an_attempt_is_born_open",
			refused: `INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, finished_at)
				VALUES (@operation, 1, 'w', 'r', payonce_now(), payonce_now(), payonce_now(), payonce_now())`,
			instead: recorded(1, 0),
		},
		{
			name: "not sent, but still under way", given: claimed(), because: "a_finished_attempt_stays",
			refused: `UPDATE attempt SET not_sent = true WHERE operation_id = @operation`, instead: finished(1, true),
		},
		{
			name: "not sent after it was finished as sent", given: claimed(finished(1, false)), because: "a_finished_attempt_stays",
			refused: `UPDATE attempt SET not_sent = true WHERE operation_id = @operation`, instead: moved("unknown"),
		},
		{
			name: "not sent, says another claim at the same fence", because: "only_its_own_claim_says_not_sent",
			given: []string{
				`INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, claim_id)
				VALUES (@operation, 1, 'w', 'r', payonce_now(), payonce_now(), payonce_now(), @other_operation)`,
			},
			refused: `UPDATE attempt SET not_sent = true, not_sent_by = @fresh, finished_at = payonce_now() WHERE operation_id = @operation`,
			instead: `UPDATE attempt SET not_sent = true, not_sent_by = claim_id, finished_at = payonce_now() WHERE operation_id = @operation`,
		},
		{
			name: "not sent, says nobody of a claim that is known", because: "only_its_own_claim_says_not_sent",
			given: []string{
				`INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, claim_id)
				VALUES (@operation, 1, 'w', 'r', payonce_now(), payonce_now(), payonce_now(), @other_operation)`,
			},
			refused: finished(1, true), instead: finished(1, false),
		},
		{
			name: "a resend order for another fence", given: claimed(moved("unknown")),
			because: "a_resend_order_is_for_an_unknown_operation",
			refused: `UPDATE operation SET resend_fence = 2, next_attempt_at = payonce_now() WHERE id = @operation`,
			instead: `UPDATE operation SET resend_fence = 1, next_attempt_at = payonce_now() WHERE id = @operation`,
		},
		{
			name: "an unknown operation that nobody looks at again", given: claimed(), because: "what_is_open_is_looked_at_again",
			refused: `UPDATE operation SET state = 'unknown', lease_until = NULL WHERE id = @operation`, instead: moved("unknown"),
		},
	}
}
