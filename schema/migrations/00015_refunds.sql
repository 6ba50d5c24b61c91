-- +goose Up

-- Tables in use are altered here: who waits for one holds up everyone behind it, so the
-- wait is short, and the migration is tried again.
SET LOCAL lock_timeout = '1s';

-- A merchant's refund is an operation of kind refund that serves no case. It acts on
-- the movement that its charge succeeded with, which is fixed at birth as everything
-- else that it is asked for with. (Constraints are not validated, because no older row
-- is a merchant's refund; 00021 does.)
ALTER TABLE operation
    ADD COLUMN refund_reference text, -- the merchant's name for it, taken for ever
    ADD COLUMN metadata         jsonb,
    -- What the events of a refund carry on is of its own request, not of its payment's.
    ADD COLUMN trace_parent     text,
    ADD COLUMN correlation_id   text,
    ADD COLUMN idempotency_key  text;
ALTER TABLE operation
    ADD CONSTRAINT a_refund_serves_a_merchant_or_a_case
        CHECK ((kind = 'refund' AND case_id IS NULL) = (refund_reference IS NOT NULL)) NOT VALID,
    ADD CONSTRAINT a_refund_has_a_request
        CHECK (num_nonnulls(refund_reference, trace_parent, correlation_id, idempotency_key) IN (0, 4)) NOT VALID,
    ADD CONSTRAINT a_refund_acts_on_something
        CHECK (refund_reference IS NULL OR (refund_reference <> '' AND target_object_id <> '' AND target_object_id IS NOT NULL)) NOT VALID,
    ADD CONSTRAINT a_refund_is_not_what_it_acts_on
        CHECK (kind <> 'refund' OR state <> 'succeeded' OR provider_object_id IS DISTINCT FROM target_object_id) NOT VALID;

-- The account at the provider that a payment's charge was sent to: what follows the @ of
-- the recipe by which it was. Attempts that are remembered say it, before those that
-- stand for what was lost. Null where nothing says it.
-- +goose StatementBegin
CREATE FUNCTION account_that_took(payment uuid) RETURNS text
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN (SELECT substring(a.recipe FROM '@(.*)')
            FROM public.operation charge
                     JOIN public.attempt a ON a.operation_id = charge.id
            WHERE charge.payment_id = account_that_took.payment AND charge.kind = 'charge' AND a.recipe LIKE '%@%' AND a.recipe <> '@'
            ORDER BY a.epoch_id IS NOT NULL, a.fence
            LIMIT 1);
END
$$;
-- +goose StatementEnd

-- Whether a merchant may have given back what a charge succeeded with: the provider has
-- named it, and does not deny it in its newest word, other than in what a person has seen
-- and dismissed; nobody has to judge a doubt about it; and no case gives it back, nor may
-- have, by a refund that was given up and took place after all.
-- +goose StatementBegin
CREATE FUNCTION may_be_refunded(charge operation) RETURNS boolean
    LANGUAGE plpgsql STABLE AS
$$
BEGIN
    RETURN charge.kind = 'charge' AND charge.state = 'succeeded' AND coalesce(charge.provider_object_id, '') <> ''
        AND NOT EXISTS (SELECT
                        FROM public.payment_case k
                        WHERE k.operation_id = charge.id AND k.kind = 'failed_after_captured' AND k.state IN ('open', 'working'))
        AND NOT EXISTS (SELECT
                        FROM public.payment_case k
                                 JOIN public.operation back ON back.case_id = k.id
                        WHERE k.operation_id = charge.id
                          AND back.target_object_id = charge.provider_object_id
                          AND (back.state NOT IN ('failed', 'canceled') OR public.provider_may_hold(back.id)))
        AND NOT EXISTS (SELECT
                        FROM public.evidence n
                        WHERE n.operation_id = charge.id AND n.provider_object_id = charge.provider_object_id
                          AND n.verdict IN ('declined', 'not_taken')
                          AND NOT EXISTS (SELECT
                                          FROM public.evidence c
                                          WHERE c.operation_id = n.operation_id AND c.provider_object_id = n.provider_object_id
                                            AND c.verdict = 'captured' AND c.source NOT IN ('webhook', 'settlement')
                                            AND c.asked_at > n.asked_at)
                          AND NOT EXISTS (SELECT
                                          FROM public.payment_case k
                                          WHERE k.operation_id = charge.id AND k.kind = 'failed_after_captured'
                                            AND k.state = 'dismissed' AND k.updated_at >= n.recorded_at));
END
$$;
-- +goose StatementEnd

-- As in 00010, and: a merchant's refund is born of a captured payment, for no more than
-- the payment, and acts on what its charge succeeded with, at the account that took it.
-- That movement is never a case's to give back, and a case's money never a refund's. A
-- compensation gives back what was charged, never what was refunded.
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
                         AND k.amount_minor = NEW.amount_minor AND k.currency = NEW.currency AND charge.kind = 'charge'
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
    IF NEW.refund_reference IS NOT NULL
        AND NOT EXISTS (SELECT FROM public.operation charge
                        WHERE charge.payment_id = NEW.payment_id AND charge.kind = 'charge' AND charge.state = 'succeeded'
                          AND charge.provider_account = NEW.provider_account AND charge.provider_object_id = NEW.target_object_id
                          AND public.may_be_refunded(charge)) THEN
        RAISE EXCEPTION 'refund % does not act on what payment % was captured with', NEW.id, NEW.payment_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_refund_gives_back_what_was_captured';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- Looked at when the transaction ends, because the payment's sum, its refunds and their
-- postings are written one after the other: the sum counts what has not failed, so an
-- unknown refund counts; CHECK keeps it within the payment. Whoever changes the sum holds
-- the payment's row until this was looked at, so two refunds cannot miss each other.
-- A refund that took place is booked: payable stays captured - refunded.
-- +goose StatementBegin
CREATE FUNCTION guard_refunded() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    about    uuid;
    p        public.payment;
    counted  bigint;
    unbooked uuid;
BEGIN
    IF TG_TABLE_NAME = 'payment' THEN
        about := NEW.id;
    ELSE
        about := NEW.payment_id;
    END IF;
    SELECT * INTO p FROM public.payment WHERE id = about;
    SELECT coalesce(sum(o.amount_minor) FILTER (WHERE o.state NOT IN ('failed', 'canceled')), 0),
           min(o.id::text) FILTER (WHERE o.state = 'succeeded'
               AND NOT EXISTS (SELECT FROM public.ledger_entry e WHERE e.operation_id = o.id AND e.purpose IN ('movement', 'adoption')))::uuid
    INTO counted, unbooked
    FROM public.operation o
    WHERE o.payment_id = about AND o.refund_reference IS NOT NULL;
    IF p.refunded_minor <> counted OR (counted > 0 AND p.state <> 'captured') THEN
        RAISE EXCEPTION 'payment % (%) says that % are refunded, and its refunds say %', about, p.state, p.refunded_minor, counted
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_payment_counts_its_refunds';
    ELSIF unbooked IS NOT NULL THEN
        RAISE EXCEPTION 'refund % took place and is not booked', unbooked
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_refund_that_took_place_is_booked';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER a_refund_is_counted
    AFTER INSERT OR UPDATE OF state ON operation
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.refund_reference IS NOT NULL) EXECUTE FUNCTION guard_refunded();
CREATE CONSTRAINT TRIGGER a_payment_counts_its_refunds
    AFTER UPDATE OF refunded_minor ON payment
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.refunded_minor <> NEW.refunded_minor) EXECUTE FUNCTION guard_refunded();

-- A refund's movement is the reverse of its charge's: DR payable CR clearing.
-- +goose StatementBegin
CREATE FUNCTION guard_refund_postings() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    broken uuid;
BEGIN
    SELECT a.operation_id INTO broken
    FROM added a
             JOIN public.operation o ON o.id = a.operation_id
             JOIN public.payment p ON p.id = o.payment_id
    WHERE o.refund_reference IS NOT NULL AND a.purpose = 'movement'
      AND a.account <> CASE WHEN a.amount_minor > 0 THEN 'merchant:' || p.merchant_id || ':payable'
                            ELSE 'provider:' || o.provider_account || ':clearing' END
    LIMIT 1;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'refund % is not booked as the reverse of its charge', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_posting_books_what_moved';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER a_refunds_posting_reverses_its_charge
    AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION guard_refund_postings();

-- Cases about refunds: one that failed and took place after all, took place twice or over
-- another amount, or is denied. The money of such a case went out, so it stands in
-- suspense the other way round:
--   suspense  DR suspense  CR clearing   the provider says that it gave money back
--   adoption  DR payable   CR suspense   it becomes the refund's
--   reversal  DR clearing  CR suspense   a closed case, and there was no such money
-- Nothing gives it back again. The limit of what may be refunded is the payment's CHECK.
ALTER TABLE payment_case
    DROP CONSTRAINT payment_case_kind_check,
    ADD CONSTRAINT payment_case_kind_check
        CHECK (kind IN ('captured_after_failed', 'captured_twice', 'amount_mismatch', 'failed_after_captured')) NOT VALID;

-- As in 00010, and: a merchant's refund that failed is adopted by its case, in the case's
-- own words.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION adoption_lacks(adopted operation) RETURNS text
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
    IF adopted.refund_reference IS NOT NULL THEN
        RETURN NULL;
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

-- As in 00010, and: about a merchant's refund, too; and about a charge that adopted money
-- which went back after all.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_case_birth() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    moved public.operation;
    why   text;
BEGIN
    SELECT * INTO moved
    FROM public.operation o
    WHERE o.id = NEW.operation_id AND o.payment_id = NEW.payment_id AND o.provider_account = NEW.provider_account
      AND (o.kind = 'charge' OR o.refund_reference IS NOT NULL);
    IF NOT FOUND THEN
        why := 'its payment has no such charge or refund';
    ELSIF NEW.state <> 'open' OR NEW.version <> 1 THEN
        why := 'it may only be born open';
    ELSIF NEW.kind = 'failed_after_captured' THEN
        IF moved.state <> 'succeeded' OR NEW.suspended THEN
            why := 'its operation has not succeeded, or it holds money';
        ELSIF NOT EXISTS (SELECT FROM public.evidence e
                          WHERE e.operation_id = moved.id AND e.verdict IN ('declined', 'not_taken')
                            AND (e.source = 'closure' OR e.covers_until IS NOT NULL))
            AND NOT EXISTS (SELECT FROM public.payment_case k
                                     JOIN public.operation back ON back.case_id = k.id
                                     JOIN public.evidence e ON e.operation_id = back.id
                            WHERE k.operation_id = moved.id AND k.resolution = 'adopted'
                              AND back.state IN ('failed', 'canceled') AND e.verdict = 'captured') THEN
            why := 'nobody who would know denies the operation';
        END IF;
    ELSIF NOT EXISTS (SELECT FROM public.evidence e
                      WHERE e.operation_id = moved.id AND e.verdict = 'captured'
                        AND coalesce(e.provider_object_id, '') = NEW.provider_object_id
                        AND e.amount_minor IS NOT DISTINCT FROM NEW.amount_minor AND e.currency IS NOT DISTINCT FROM NEW.currency) THEN
        why := 'no captured evidence says so';
    ELSIF NEW.suspended AND moved.state = 'succeeded' AND coalesce(moved.provider_object_id, '') = NEW.provider_object_id THEN
        why := 'its money is booked as the operation''s';
    ELSIF NEW.kind = 'captured_after_failed' AND moved.state NOT IN ('failed', 'canceled')
        OR NEW.kind = 'captured_twice' AND moved.state <> 'succeeded'
        OR NEW.kind = 'amount_mismatch' AND NEW.amount_minor = moved.amount_minor AND NEW.currency = moved.currency THEN
        why := 'its operation does not contradict that';
    END IF;
    IF why IS NOT NULL THEN
        RAISE EXCEPTION 'case % (%) may not be opened: %', NEW.id, NEW.kind, why
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_case_rests_on_evidence';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- As in 00010, and: a refund's money stands in suspense on the other side.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_case_agreement() RETURNS trigger
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
    wanted := CASE WHEN NOT k.suspended OR k.state NOT IN ('open', 'working') THEN 0
                   WHEN EXISTS (SELECT FROM public.operation o WHERE o.id = k.operation_id AND o.kind = 'refund') THEN -k.amount_minor
                   ELSE k.amount_minor END;
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

-- As in 00010, and: a refund's case is booked with debit and credit changed over.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_case_postings() RETURNS trigger
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
             CROSS JOIN LATERAL (SELECT CASE o.kind WHEN 'refund' THEN a.credit ELSE a.debit END AS into_account,
                                        CASE o.kind WHEN 'refund' THEN a.debit ELSE a.credit END AS from_account) AS side
    WHERE a.lines <> 2 OR NOT k.suspended OR a.moved <> k.amount_minor OR a.currency <> k.currency
       OR (a.operation_id <> k.operation_id AND a.purpose <> 'movement')
       OR side.into_account <> 'provider:' || k.provider_account || CASE a.purpose WHEN 'suspense' THEN ':clearing' ELSE ':suspense' END
       OR side.from_account <> CASE a.purpose
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

-- As in 00006, and: an open refund keeps its key, too.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_stored_answer() RETURNS trigger
    LANGUAGE plpgsql AS
$$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'the answer for this idempotency key is stored and may not change'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_stored_answer_stays';
    END IF;
    IF EXISTS (SELECT FROM public.payment p WHERE p.id = OLD.resource_id AND p.state NOT IN ('captured', 'failed', 'canceled')) THEN
        RAISE EXCEPTION 'this idempotency key belongs to payment %, which is still open', OLD.resource_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'an_open_payment_keeps_its_key';
    ELSIF EXISTS (SELECT FROM public.operation o
                  WHERE o.id = OLD.resource_id AND o.refund_reference IS NOT NULL AND o.state NOT IN ('succeeded', 'failed', 'canceled')) THEN
        RAISE EXCEPTION 'this idempotency key belongs to refund %, which is still open', OLD.resource_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'an_open_refund_keeps_its_key';
    END IF;
    RETURN OLD;
END
$$;
-- +goose StatementEnd
