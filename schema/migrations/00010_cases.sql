-- +goose Up

-- Late and contradicting truth (U7, B3): the provider's word and ours do not go
-- together. What is done about it is a case, with a plan, a state, an owner and a
-- history. Money that the provider says it took, and that no payment accounts for,
-- stands in suspense from the moment that we hear of it until the case is closed.
CREATE TABLE payment_case
(
    id                 uuid PRIMARY KEY,
    payment_id         uuid        NOT NULL REFERENCES payment (id),
    operation_id       uuid        NOT NULL REFERENCES operation (id), -- the charge
    -- refund_beyond_limit is for refunds; nothing opens one yet.
    kind               text        NOT NULL CHECK (kind IN ('captured_after_failed', 'captured_twice', 'amount_mismatch',
                                                            'failed_after_captured', 'refund_beyond_limit')),
    provider_account   text        NOT NULL,
    provider_object_id text        NOT NULL DEFAULT '', -- the provider's movement that it is about; '' until it is named
    amount_minor       bigint, -- what the provider said, not what we asked for
    currency           text,
    suspended          boolean     NOT NULL, -- its money stands in suspense until it is closed
    plan               text        NOT NULL CHECK (plan IN ('adopt', 'refund', 'void', 'person')),
    state              text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'working', 'resolved', 'dismissed')),
    resolution         text CHECK (resolution IN ('adopted', 'refunded', 'voided', 'corrected')),
    waits_for          text        NOT NULL CHECK (waits_for IN ('machine', 'person')),
    next_step_at       timestamptz, -- when the reconciler takes its next step
    version            bigint      NOT NULL DEFAULT 1, -- rises with every move; a step for an older one falls
    created_at         timestamptz NOT NULL DEFAULT payonce_now(),
    updated_at         timestamptz NOT NULL DEFAULT payonce_now(),
    CONSTRAINT money_has_a_currency CHECK ((amount_minor IS NULL) = (currency IS NULL)),
    CONSTRAINT suspense_needs_an_amount CHECK (NOT suspended OR coalesce(amount_minor, 0) > 0),
    CONSTRAINT what_the_machine_does_is_due
        CHECK ((next_step_at IS NOT NULL) = (state = 'open' AND waits_for = 'machine')),
    CONSTRAINT a_resolution_says_how CHECK ((state = 'resolved') = (resolution IS NOT NULL))
);
-- A movement has one case of a kind. Without a name it is known by its amount.
CREATE UNIQUE INDEX one_case_per_contradiction ON payment_case (operation_id, kind, provider_object_id) WHERE provider_object_id <> '';
CREATE UNIQUE INDEX one_case_per_unnamed_amount ON payment_case (operation_id, kind, amount_minor, currency)
    NULLS NOT DISTINCT WHERE provider_object_id = '';
-- The same money is never put into suspense twice, under whatever kind.
CREATE UNIQUE INDEX one_suspense_per_movement ON payment_case (operation_id, provider_object_id) WHERE suspended AND provider_object_id <> '';
CREATE UNIQUE INDEX one_suspense_per_unnamed_amount ON payment_case (operation_id, amount_minor, currency)
    WHERE suspended AND provider_object_id = '';
CREATE INDEX payment_case_by_payment ON payment_case (payment_id);
CREATE INDEX payment_case_due ON payment_case (provider_account, next_step_at) WHERE next_step_at IS NOT NULL;
CREATE INDEX payment_case_unclosed ON payment_case (id) WHERE state IN ('open', 'working');

-- Every move of a case, with who made it and why.
CREATE TABLE payment_case_history
(
    case_id    uuid        NOT NULL REFERENCES payment_case (id),
    version    bigint      NOT NULL,
    from_state text, -- null: it was opened
    to_state   text        NOT NULL,
    plan       text        NOT NULL,
    actor      text        NOT NULL CHECK (actor IN ('machine', 'person')),
    who        text        NOT NULL CHECK (length(who) BETWEEN 1 AND 200),
    reason     text        NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
    created_at timestamptz NOT NULL DEFAULT payonce_now(),
    PRIMARY KEY (case_id, version)
);
CREATE TRIGGER payment_case_history_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON payment_case_history
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE payment_case_arrow
(
    from_state text NOT NULL,
    to_state   text NOT NULL,
    PRIMARY KEY (from_state, to_state)
);
INSERT INTO payment_case_arrow (from_state, to_state)
VALUES ('open', 'working'),
       ('open', 'resolved'),
       ('open', 'dismissed'),
       ('working', 'open'),
       ('working', 'resolved');

-- A refund or void that gives a case's money back: an operation like every other,
-- but none of its payment's. What it acts on is fixed at birth. (The constraints are
-- not validated, because every older row satisfies them: it has neither value.)
ALTER TABLE operation
    ADD COLUMN case_id          uuid,
    ADD COLUMN target_object_id text;
ALTER TABLE operation
    ADD CONSTRAINT operation_case_id_fkey FOREIGN KEY (case_id) REFERENCES payment_case (id) NOT VALID,
    ADD CONSTRAINT a_compensation_acts_on_something
        CHECK (case_id IS NULL OR (kind <> 'charge' AND target_object_id <> '' AND target_object_id IS NOT NULL)) NOT VALID,
    ADD CONSTRAINT a_charge_acts_on_nothing CHECK (kind <> 'charge' OR target_object_id IS NULL) NOT VALID;
CREATE UNIQUE INDEX operation_one_compensation_per_case ON operation (case_id)
    WHERE case_id IS NOT NULL AND state NOT IN ('failed', 'canceled');
CREATE INDEX operation_by_case ON operation (case_id) WHERE case_id IS NOT NULL;

-- Postings of a case name it; a charge may have several.
ALTER TABLE ledger_entry ADD COLUMN case_id uuid;
ALTER TABLE ledger_entry
    ADD CONSTRAINT ledger_entry_case_id_fkey FOREIGN KEY (case_id) REFERENCES payment_case (id) NOT VALID,
    DROP CONSTRAINT ledger_entry_purpose_check,
    ADD CONSTRAINT ledger_entry_purpose_check
        CHECK (purpose = 'movement' OR (purpose IN ('suspense', 'adoption', 'reversal') AND case_id IS NOT NULL)),
    DROP CONSTRAINT ledger_entry_pkey,
    ADD CONSTRAINT a_posting_is_booked_once UNIQUE NULLS NOT DISTINCT (operation_id, purpose, case_id, line);
CREATE UNIQUE INDEX a_charge_is_adopted_once ON ledger_entry (operation_id, line) WHERE purpose = 'adoption';
CREATE INDEX ledger_entry_by_case ON ledger_entry (case_id) WHERE case_id IS NOT NULL;

-- Captured evidence is undone once each case that it speaks of is: compensations gave
-- back all of it, or a person dismissed the case. What is left after them may be undone
-- by a person's later no. A word without a name speaks of every case over its amount.
--
-- With live_too it is so from the moment that a refund or void is ordered, whatever
-- its amount: nothing succeeds with a movement that is being given back, and a word
-- without a name may be about that one. A dismissed case is no obstacle there.
-- +goose StatementBegin
CREATE FUNCTION evidence_is_undone(told evidence, live_too boolean) RETURNS boolean
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    IF live_too THEN
        RETURN EXISTS (SELECT
                       FROM public.payment_case k
                                JOIN public.operation c ON c.case_id = k.id
                       WHERE k.operation_id = told.operation_id
                         AND c.state NOT IN ('failed', 'canceled')
                         AND coalesce(told.provider_object_id, '') IN ('', c.target_object_id));
    END IF;
    RETURN coalesce((
        SELECT bool_and(k.state = 'dismissed'
            OR EXISTS (SELECT
                       FROM public.operation c
                       WHERE c.case_id = k.id AND c.state = 'succeeded'
                         AND (c.kind = 'void' OR (c.currency = told.currency AND c.amount_minor >= told.amount_minor)
                           OR EXISTS (SELECT
                                      FROM public.evidence n
                                      WHERE n.operation_id = told.operation_id AND n.source = 'operator'
                                        AND n.verdict IN ('declined', 'not_taken') AND n.asked_at > told.asked_at))))
        FROM public.payment_case k
        WHERE k.operation_id = told.operation_id AND k.kind <> 'failed_after_captured'
          AND CASE coalesce(told.provider_object_id, '')
                  WHEN '' THEN k.amount_minor IS NOT DISTINCT FROM told.amount_minor AND k.currency IS NOT DISTINCT FROM told.currency
                  ELSE k.provider_object_id = told.provider_object_id END), false);
END
$$;
-- +goose StatementEnd

-- The provider's newest word about a movement is a no. A webhook or a file is as old
-- as nobody knows, so that it never speaks last (U8).
-- +goose StatementBegin
CREATE FUNCTION movement_is_denied(charge uuid, movement text) RETURNS boolean
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN EXISTS (SELECT
                   FROM public.evidence n
                   WHERE n.operation_id = charge AND n.provider_object_id = movement AND movement <> ''
                     AND n.verdict IN ('declined', 'not_taken')
                     AND NOT EXISTS (SELECT
                                     FROM public.evidence c
                                     WHERE c.operation_id = n.operation_id AND c.provider_object_id = n.provider_object_id
                                       AND c.verdict = 'captured' AND c.source NOT IN ('webhook', 'settlement')
                                       AND c.asked_at > n.asked_at));
END
$$;
-- +goose StatementEnd

-- Captured evidence that matches the operation and is not given back.
-- +goose StatementBegin
CREATE FUNCTION is_proven_captured(wanted operation) RETURNS boolean
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN EXISTS (SELECT
                   FROM public.evidence e
                   WHERE e.operation_id = wanted.id AND e.verdict = 'captured'
                     AND e.amount_minor = wanted.amount_minor AND e.currency = wanted.currency
                     AND NOT public.evidence_is_undone(e, true));
END
$$;
-- +goose StatementEnd

-- provider_may_hold() without what is undone: such an operation may fail, but is never
-- sent again.
-- +goose StatementBegin
CREATE FUNCTION provider_still_holds(operation uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN EXISTS (SELECT
                   FROM public.evidence p
                   WHERE p.operation_id = operation
                     AND ((p.verdict = 'captured' AND NOT public.evidence_is_undone(p, false))
                       OR (p.verdict = 'pending'
                         AND NOT EXISTS (SELECT
                                         FROM public.evidence n
                                         WHERE n.operation_id = p.operation_id
                                           AND n.verdict IN ('declined', 'not_taken')
                                           AND n.asked_at > p.asked_at))));
END
$$;
-- +goose StatementEnd

-- What keeps an operation from leaving failed or canceled for succeeded, or null.
-- A charge is adopted: by its case, in the case's own words, while the provider does
-- not deny the movement and nothing may have given it back, and only while its payment
-- holds the invoice and the reference again. A compensation may succeed late while no
-- other one is under way, which an index sees to.
-- +goose StatementBegin
CREATE FUNCTION adoption_lacks(adopted operation) RETURNS text
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    IF NOT public.is_proven_captured(adopted) THEN
        RETURN 'no captured evidence with this amount and currency';
    END IF;
    IF adopted.case_id IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM public.payment_case k WHERE k.id = adopted.case_id AND k.state IN ('open', 'working')) THEN
            RETURN 'its case is closed';
        END IF;
        RETURN NULL;
    END IF;
    IF NOT EXISTS (SELECT FROM public.payment_case k
                   WHERE k.operation_id = adopted.id AND k.kind = 'captured_after_failed' AND k.state = 'open' AND k.plan = 'adopt'
                     AND k.suspended AND k.amount_minor = adopted.amount_minor AND k.currency = adopted.currency
                     AND k.provider_object_id IN ('', adopted.provider_object_id)
                     AND NOT public.movement_is_denied(k.operation_id, k.provider_object_id)
                     AND NOT EXISTS (SELECT FROM public.operation c WHERE c.case_id = k.id AND public.provider_may_hold(c.id))) THEN
        RETURN 'no case adopts it';
    END IF;
    IF NOT EXISTS (SELECT FROM public.payment p
                            JOIN public.invoice_identity i
                                 ON i.merchant_id = p.merchant_id AND i.invoice_id = p.invoice_id AND i.payment_type = p.payment_type
                   WHERE p.id = adopted.payment_id AND i.payment_id = p.id
                     AND (p.external_reference IS NULL
                       OR EXISTS (SELECT FROM public.reference_identity r
                                  WHERE r.merchant_id = p.merchant_id AND r.external_reference = p.external_reference
                                    AND r.payment_id = p.id))) THEN
        RETURN 'its payment does not hold the invoice and the reference';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- What a charge holds for its own is not for a case: the movement that its row names,
-- or, where it succeeded on a word without a name, whatever could be that movement,
-- which is the only one that was ever named.
-- +goose StatementBegin
CREATE FUNCTION movement_is_the_charges(charge operation, movement text) RETURNS boolean
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN charge.state = 'succeeded'
        AND (coalesce(charge.provider_object_id, '') = movement
            OR (coalesce(charge.provider_object_id, '') = ''
                AND NOT EXISTS (SELECT
                                FROM public.evidence e
                                WHERE e.operation_id = charge.id AND e.verdict = 'captured'
                                  AND coalesce(e.provider_object_id, '') NOT IN ('', movement))));
END
$$;
-- +goose StatementEnd

-- An operation moves its payment's money, or gives back exactly what its case says:
-- never what the charge itself succeeded with, and not while an earlier try may have
-- moved it after all.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_operation_amount() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF NEW.case_id IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM public.payment_case k
                                JOIN public.operation charge ON charge.id = k.operation_id
                       WHERE k.id = NEW.case_id AND k.suspended AND k.state = 'open' AND k.payment_id = NEW.payment_id
                         AND k.provider_account = NEW.provider_account AND k.provider_object_id = NEW.target_object_id
                         AND k.amount_minor = NEW.amount_minor AND k.currency = NEW.currency
                         AND NOT public.movement_is_the_charges(charge, NEW.target_object_id))
            OR EXISTS (SELECT FROM public.operation earlier
                       WHERE earlier.case_id = NEW.case_id AND public.provider_may_hold(earlier.id)) THEN
            RAISE EXCEPTION 'operation % does not give back what case % says', NEW.id, NEW.case_id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'a_compensation_gives_back_its_cases_money';
        END IF;
        RETURN NEW;
    END IF;
    IF NOT EXISTS (SELECT FROM public.payment p
                   WHERE p.id = NEW.payment_id AND p.currency = NEW.currency
                     AND (NEW.amount_minor = p.amount_minor OR (NEW.kind = 'refund' AND NEW.amount_minor < p.amount_minor))) THEN
        RAISE EXCEPTION 'operation % is not for the amount and currency of payment %', NEW.id, NEW.payment_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'an_operation_moves_its_payments_money';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- Money goes back once: nothing of a case is sent while another refund or void of it
-- may have taken place, although it was given up.
-- +goose StatementBegin
CREATE FUNCTION guard_second_send() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF EXISTS (SELECT FROM public.operation o
               WHERE o.case_id = NEW.case_id AND o.id <> NEW.id AND public.provider_may_hold(o.id)) THEN
        RAISE EXCEPTION 'operation % may not be sent: another one of case % may have taken place', NEW.id, NEW.case_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_case_gives_back_once';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_case_gives_back_once
    BEFORE UPDATE OF fence ON operation
    FOR EACH ROW WHEN (NEW.case_id IS NOT NULL AND NEW.lease_until IS NOT NULL AND NEW.fence > OLD.fence)
EXECUTE FUNCTION guard_second_send();

-- A case is born open, about a charge of ours, on evidence that contradicts it.
-- +goose StatementBegin
CREATE FUNCTION guard_case_birth() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    charge public.operation;
    why    text;
BEGIN
    SELECT * INTO charge
    FROM public.operation o
    WHERE o.id = NEW.operation_id AND o.payment_id = NEW.payment_id AND o.provider_account = NEW.provider_account AND o.kind = 'charge';
    IF NOT FOUND THEN
        why := 'its payment has no such charge';
    ELSIF NEW.state <> 'open' OR NEW.version <> 1 THEN
        why := 'it may only be born open';
    ELSIF NEW.kind = 'failed_after_captured' THEN
        IF charge.state <> 'succeeded' OR NEW.suspended THEN
            why := 'its charge has not succeeded, or it holds money';
        ELSIF NOT EXISTS (SELECT FROM public.evidence e
                          WHERE e.operation_id = charge.id AND e.verdict IN ('declined', 'not_taken')
                            AND (e.source = 'closure' OR e.covers_until IS NOT NULL)) THEN
            why := 'nobody who would know denies the charge';
        END IF;
    ELSIF NOT EXISTS (SELECT FROM public.evidence e
                      WHERE e.operation_id = charge.id AND e.verdict = 'captured'
                        AND coalesce(e.provider_object_id, '') = NEW.provider_object_id
                        AND e.amount_minor IS NOT DISTINCT FROM NEW.amount_minor AND e.currency IS NOT DISTINCT FROM NEW.currency) THEN
        why := 'no captured evidence says so';
    ELSIF NEW.suspended AND charge.state = 'succeeded' AND coalesce(charge.provider_object_id, '') = NEW.provider_object_id THEN
        why := 'its money is booked as the charge''s';
    ELSIF NEW.kind = 'captured_after_failed' AND charge.state NOT IN ('failed', 'canceled')
        OR NEW.kind = 'captured_twice' AND charge.state <> 'succeeded'
        OR NEW.kind = 'amount_mismatch' AND NEW.amount_minor = charge.amount_minor AND NEW.currency = charge.currency
        OR NEW.kind = 'refund_beyond_limit' THEN
        why := 'its charge does not contradict that';
    END IF;
    IF why IS NOT NULL THEN
        RAISE EXCEPTION 'case % (%) may not be opened: %', NEW.id, NEW.kind, why
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_case_rests_on_evidence';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_case_rests_on_evidence
    BEFORE INSERT ON payment_case
    FOR EACH ROW EXECUTE FUNCTION guard_case_birth();

-- A case moves along its arrows, one version at a time, with its line of history,
-- and is closed on proof only: adopted and refunded by the operation that did it,
-- dismissed by a person who says why.
-- +goose StatementBegin
CREATE FUNCTION guard_case_move() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    told public.payment_case_history;
    why  text;
BEGIN
    SELECT * INTO told FROM public.payment_case_history h WHERE h.case_id = NEW.id AND h.version = NEW.version;
    IF NEW.version <> OLD.version + 1 THEN
        why := 'its version rises by one';
    ELSIF told.from_state IS DISTINCT FROM OLD.state OR told.to_state IS DISTINCT FROM NEW.state OR told.plan IS DISTINCT FROM NEW.plan THEN
        why := 'its history does not tell of it';
    ELSIF OLD.state IN ('resolved', 'dismissed') THEN
        why := 'it is closed';
    ELSIF NEW.state <> OLD.state
        AND NOT EXISTS (SELECT FROM public.payment_case_arrow WHERE from_state = OLD.state AND to_state = NEW.state) THEN
        why := 'there is no such arrow';
    ELSIF OLD.provider_object_id <> '' AND NEW.provider_object_id <> OLD.provider_object_id THEN
        why := 'the movement that it is about is named once';
    ELSIF NEW.provider_object_id <> OLD.provider_object_id
        AND NOT EXISTS (SELECT FROM public.evidence e
                                 JOIN public.operation o ON o.id = e.operation_id
                        WHERE o.id = NEW.operation_id AND e.verdict = 'captured' AND e.provider_object_id = NEW.provider_object_id
                          AND e.amount_minor IS NOT DISTINCT FROM NEW.amount_minor AND e.currency IS NOT DISTINCT FROM NEW.currency
                          AND NOT (o.state = 'succeeded' AND o.provider_object_id IS NOT DISTINCT FROM NEW.provider_object_id)) THEN
        why := 'no captured evidence of another movement than the charge''s has that name';
    ELSIF (NEW.state = 'working') <> EXISTS (SELECT FROM public.operation c
                                             WHERE c.case_id = NEW.id AND c.state NOT IN ('succeeded', 'failed', 'canceled')) THEN
        why := 'it is at work if and only if a refund or void of it is open';
    ELSIF NEW.state = 'dismissed' AND told.actor <> 'person' THEN
        why := 'only a person dismisses it';
    ELSIF NEW.resolution = 'adopted' THEN
        IF NEW.kind <> 'captured_after_failed' OR NEW.plan <> 'adopt'
            OR NOT EXISTS (SELECT FROM public.operation o
                           WHERE o.id = NEW.operation_id AND o.state = 'succeeded'
                             AND NEW.provider_object_id IN ('', o.provider_object_id)) THEN
            why := 'its charge has not been adopted';
        END IF;
    ELSIF NEW.resolution = 'corrected' THEN
        IF NOT EXISTS (SELECT FROM public.operation o
                       WHERE o.id = NEW.operation_id AND o.state = 'succeeded' AND o.provider_object_id = NEW.provider_object_id) THEN
            why := 'its charge has not succeeded with that movement';
        END IF;
    ELSIF NEW.resolution IN ('refunded', 'voided') THEN
        IF NOT EXISTS (SELECT FROM public.operation c
                       WHERE c.case_id = NEW.id AND c.state = 'succeeded'
                         AND c.kind = CASE NEW.resolution WHEN 'refunded' THEN 'refund' ELSE 'void' END) THEN
            why := 'nothing of it has been given back';
        END IF;
    END IF;
    IF why IS NOT NULL THEN
        RAISE EXCEPTION 'case % may not go from % to %: %', NEW.id, OLD.state, NEW.state, why
            USING ERRCODE = 'check_violation', CONSTRAINT = 'case_move_is_proven';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER case_move_is_proven
    BEFORE UPDATE OF state, plan, resolution, waits_for, provider_object_id, version ON payment_case
    FOR EACH ROW EXECUTE FUNCTION guard_case_move();

-- Looked at when the transaction ends, because case, operations and postings are
-- written one after the other: what is suspended stands in suspense as long as the case
-- is open, and nothing of it once the case is closed (P4); and the case says what its
-- refunds and voids are.
-- +goose StatementBegin
CREATE FUNCTION guard_case_agreement() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    about  uuid;
    k      public.payment_case;
    stands bigint;
    wanted bigint;
    why    text;
BEGIN
    IF TG_TABLE_NAME = 'payment_case' THEN
        about := NEW.id;
    ELSE
        about := NEW.case_id;
    END IF;
    SELECT * INTO k FROM public.payment_case c WHERE c.id = about;
    SELECT coalesce(-sum(e.amount_minor), 0) INTO stands
    FROM public.ledger_entry e
    WHERE e.case_id = k.id AND e.account = 'provider:' || k.provider_account || ':suspense';
    wanted := CASE WHEN k.suspended AND k.state IN ('open', 'working') THEN k.amount_minor ELSE 0 END;
    IF stands <> wanted THEN
        why := format('%s stands in suspense instead of %s', stands, wanted);
    ELSIF NOT EXISTS (SELECT FROM public.payment_case_history h WHERE h.case_id = k.id AND h.version = k.version) THEN
        why := 'its history is silent';
    ELSIF (k.state = 'working') <> EXISTS (SELECT FROM public.operation c
                                           WHERE c.case_id = k.id AND c.state NOT IN ('succeeded', 'failed', 'canceled')) THEN
        why := 'it is at work if and only if a refund or void of it is open';
    ELSIF coalesce(k.resolution IN ('refunded', 'voided'), false) <> EXISTS (SELECT FROM public.operation c
                                                                             WHERE c.case_id = k.id AND c.state = 'succeeded') THEN
        why := 'it is given back if and only if a refund or void of it succeeded';
    END IF;
    IF why IS NOT NULL THEN
        RAISE EXCEPTION 'case % is %: %', k.id, k.state, why
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_case_agrees_with_money_and_operations';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER a_case_agrees_with_money_and_operations
    AFTER INSERT OR UPDATE OF state ON payment_case
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION guard_case_agreement();
CREATE CONSTRAINT TRIGGER a_compensation_agrees_with_its_case
    AFTER INSERT OR UPDATE OF state ON operation
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.case_id IS NOT NULL) EXECUTE FUNCTION guard_case_agreement();
CREATE CONSTRAINT TRIGGER a_posting_agrees_with_its_case
    AFTER INSERT ON ledger_entry
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.case_id IS NOT NULL) EXECUTE FUNCTION guard_case_agreement();

-- As before, and: a movement is booked under the case that its operation serves, and
-- not beside an adoption.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_postings() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    broken uuid;
BEGIN
    SELECT a.operation_id INTO broken
    FROM added a
    GROUP BY a.operation_id, a.purpose, a.case_id
    HAVING sum(a.amount_minor) <> 0 OR count(DISTINCT a.currency) <> 1 OR min(a.line) <> 1
    LIMIT 1;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'the posting for operation % does not balance', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_posting_balances';
    END IF;
    SELECT a.operation_id INTO broken
    FROM (SELECT operation_id, case_id, currency, sum(amount_minor) FILTER (WHERE amount_minor > 0) AS moved
          FROM added WHERE purpose = 'movement' GROUP BY operation_id, case_id, currency) a
             JOIN public.operation o ON o.id = a.operation_id
    WHERE o.state <> 'succeeded' OR o.amount_minor <> a.moved OR o.currency <> a.currency OR a.case_id IS DISTINCT FROM o.case_id
       OR EXISTS (SELECT FROM public.ledger_entry e WHERE e.operation_id = o.id AND e.purpose = 'adoption')
    LIMIT 1;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'operation % has not moved what is being posted', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_posting_books_what_moved';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- The postings of cases.
--   suspense  DR clearing  CR suspense   the provider says that it took money
--   adoption  DR suspense  CR payable    it becomes the charge's
--   reversal  DR suspense  CR clearing   a closed case, and the money was none of its own
--   movement of a compensation: DR suspense CR clearing
-- +goose StatementBegin
CREATE FUNCTION guard_case_postings() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    broken uuid;
BEGIN
    IF NOT EXISTS (SELECT FROM added WHERE case_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    SELECT a.operation_id INTO broken
    FROM (SELECT operation_id, purpose, case_id, currency, count(*) AS lines,
                 sum(amount_minor) FILTER (WHERE amount_minor > 0) AS moved,
                 min(account) FILTER (WHERE amount_minor > 0) AS debit, min(account) FILTER (WHERE amount_minor < 0) AS credit
          FROM added WHERE case_id IS NOT NULL GROUP BY operation_id, purpose, case_id, currency) a
             JOIN public.payment_case k ON k.id = a.case_id
             JOIN public.payment p ON p.id = k.payment_id
             JOIN public.operation o ON o.id = k.operation_id
    WHERE a.lines <> 2 OR NOT k.suspended OR a.moved <> k.amount_minor OR a.currency <> k.currency
       OR (a.operation_id <> k.operation_id AND a.purpose <> 'movement')
       OR a.debit <> 'provider:' || k.provider_account || CASE a.purpose WHEN 'suspense' THEN ':clearing' ELSE ':suspense' END
       OR a.credit <> CASE a.purpose
                          WHEN 'suspense' THEN 'provider:' || k.provider_account || ':suspense'
                          WHEN 'adoption' THEN 'merchant:' || p.merchant_id || ':payable'
                          ELSE 'provider:' || k.provider_account || ':clearing' END
       OR (CASE a.purpose
               WHEN 'suspense' THEN k.state = 'open'
               WHEN 'adoption' THEN k.resolution = 'adopted' AND o.state = 'succeeded'
                   AND o.amount_minor = k.amount_minor AND o.currency = k.currency
                   AND NOT EXISTS (SELECT FROM public.ledger_entry e WHERE e.operation_id = o.id AND e.purpose = 'movement')
               WHEN 'reversal' THEN k.state = 'dismissed' OR k.resolution = 'corrected'
               ELSE k.state <> 'dismissed' END) IS NOT TRUE
    LIMIT 1;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'operation % has not moved what is being posted', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_posting_books_what_moved';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_cases_posting_books_what_moved
    AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION guard_case_postings();

-- Who, what and how much are fixed when a case opens.
GRANT SELECT, INSERT ON payment_case, payment_case_history TO payonce_app;
GRANT SELECT ON payment_case_arrow TO payonce_app;
GRANT UPDATE (state, plan, resolution, waits_for, provider_object_id, next_step_at, version, updated_at) ON payment_case TO payonce_app;
