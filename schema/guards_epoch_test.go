package schema_test

import (
	"fmt"
	"strings"
)

const (
	// bumped is that commits were lost, after the case's payments were accepted.
	bumped = `INSERT INTO epoch (id, in_flight, who, reason) VALUES (gen_random_uuid(), '1 minute', 'ada', 'restored')`
	// earlier is that they were lost before.
	earlier = `INSERT INTO epoch (id, bumped_at, in_flight, who, reason)
		VALUES (gen_random_uuid(), '2020-01-01', '1 minute', 'ada', 'restored')`
)

// lost stands for the attempts that the newest epoch may have taken: from the
// operation's birth, or seconds later, until so many after the bump.
func lost(fence, later, until int) string {
	return fmt.Sprintf(`INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send, epoch_id)
		SELECT o.id, %d, 'epoch', '', o.created_at + interval '%d s', e.bumped_at, e.bumped_at + interval '%d s', e.id
		FROM operation o, (SELECT id, bumped_at FROM epoch ORDER BY bumped_at DESC LIMIT 1) AS e WHERE o.id = @operation`, fence, later, until)
}

// lostObject stands for attempts that acted on an object.
func lostObject(fence int, object string) string {
	return strings.NewReplacer("epoch_id)", "epoch_id, acted_on)", "e.id\n", "e.id, '"+object+"'\n").Replace(lost(fence, 0, 60))
}

// unknownAt is created that becomes unknown with a fence.
func unknownAt(fence int) string {
	return fmt.Sprintf(`UPDATE operation SET state = 'unknown', fence = %d, next_attempt_at = NULL, next_check_at = payonce_now()
		WHERE id = @operation`, fence)
}

// coveredLater is an authoritative no that was asked for long after the bump.
const coveredLater = `INSERT INTO evidence (id, operation_id, source, verdict, asked_at, covers_until, hash)
	VALUES (gen_random_uuid(), @operation, 'inquiry', 'not_taken', payonce_now() + interval '1 h', payonce_now() + interval '50 min', sha256(''))`

// epochs: what was there when commits were lost moves on proof only, and nothing is
// made up about what was lost.
func epochs() []guard {
	move, spans := "operation_move_is_proven", "what_was_lost_spans_its_epoch"
	fail := `UPDATE operation SET state = 'failed', lease_until = NULL, next_attempt_at = NULL, next_check_at = NULL WHERE id = @operation`
	asked := []string{bumped, lost(1, 0, 60), unknownAt(1), shown("unknown")}
	return []guard{
		{
			name: "a claim of what was there at a bump", given: []string{earlier, bumped, recorded(1, 0)}, because: move,
			refused: leased("processing", 1, 0), instead: noted,
		},
		{
			name: "an expiry of what was there at a bump", given: []string{bumped}, because: move, refused: fail, instead: noted,
		},
		{
			name: "unknown by an epoch that is not recorded", given: []string{bumped}, because: move,
			refused: unknownAt(1), proof: []string{lost(1, 0, 60)},
		},
		{
			name: "unknown by the epoch's attempt under another fence", given: []string{bumped, lost(1, 0, 60)}, because: move,
			refused: unknownAt(2), instead: unknownAt(1),
		},
		{
			name: "unknown by an epoch from before the payment", given: []string{earlier, lost(1, 0, 60)}, because: move,
			refused: unknownAt(1), instead: noted,
		},
		{
			name: "failed on what is remembered only", because: move, refused: fail,
			given: claimed(bumped, evidence{source: "answer", verdict: "declined", fence: 1}.sql()),
			proof: []string{lost(2, 0, 60), coveredLater},
		},
		{
			name: "created again after a bump", given: append(asked, coveredLater), because: move,
			refused: `UPDATE operation SET state = 'created', next_attempt_at = payonce_now(), next_check_at = NULL WHERE id = @operation`,
			instead: fail,
		},
		{
			name: "a lost attempt that begins after the birth", given: []string{bumped}, because: spans, refused: lost(1, 1, 60), instead: lost(1, 0, 60),
		},
		{
			name: "a lost attempt that ends too soon", given: []string{bumped}, because: spans, refused: lost(1, 0, 59), instead: lost(1, 0, 60),
		},
		{
			name: "a lost attempt of an object that the operation does not have", given: []string{bumped}, because: "what_was_lost_acted_on_what_was_stored",
			refused: lostObject(1, "pi_1"), proof: []string{`UPDATE operation SET provider_object_id = 'pi_1' WHERE id = @operation`},
		},
		{
			name: "an epoch is recorded twice", given: asked, because: "attempt_once_per_epoch", refused: lost(2, 0, 60), instead: noted,
		},
		{
			name: "a lost attempt tells of itself", given: asked, because: appendOnly, refused: finished(1, true), instead: noted,
		},
		{
			name: "an epoch is taken back", given: []string{bumped}, because: noRight, refused: `DELETE FROM epoch`, instead: earlier,
		},
	}
}

// statements: a person's words are kept as they were said.
func statements() []guard {
	say := func(hashed string) string {
		return fmt.Sprintf(`INSERT INTO operator_statement (hash, operation_id, who, reason, said)
			VALUES (sha256('%s'), @operation, 'ada', 'called them', 'nothing')`, hashed)
	}
	return []guard{
		{name: "other words than were hashed", because: "operator_statement_check", refused: say("something"), instead: say("nothing")},
		{name: "words are changed", given: []string{say("nothing")}, because: noRight, refused: `UPDATE operator_statement SET who = 'bob'`, instead: noted},
	}
}
