-- +goose Up

-- A provider's list is its own word about a movement that it names, told without
-- being asked about an operation. It says what is there; what it leaves out, or calls
-- declined, proves nothing: another try of the same reference may stand on another
-- page. (Not validated, because no older row is of this source.)
ALTER TABLE evidence
    DROP CONSTRAINT evidence_source_check,
    ADD CONSTRAINT evidence_source_check
        CHECK (source IN ('answer', 'inquiry', 'closure', 'webhook', 'settlement', 'operator', 'list')) NOT VALID,
    ADD CONSTRAINT a_list_tells_what_is_there
        CHECK (source <> 'list' OR (verdict IN ('captured', 'pending') AND covers_until IS NULL)) NOT VALID;

-- The drift scan (U10) holds our final operations against a provider's list, over
-- windows of time. Identity is the provider's own name of the account: what was
-- listed for one is not listed for another, whatever our configuration calls it.

-- Until when an account has been scanned without a gap.
CREATE TABLE drift_scanned
(
    provider_account text        NOT NULL,
    identity         text        NOT NULL,
    scanned_until    timestamptz NOT NULL,
    PRIMARY KEY (provider_account, identity)
);

-- One window, [from_at, to_at), and how far its scan has come.
CREATE TABLE drift_scan
(
    id               uuid PRIMARY KEY,
    provider_account text        NOT NULL,
    identity         text        NOT NULL,
    from_at          timestamptz NOT NULL,
    to_at            timestamptz NOT NULL,
    scheduled        boolean     NOT NULL, -- false: a person asked for it
    phase            text        NOT NULL DEFAULT 'listing'
        CHECK (phase IN ('listing', 'recalling', 'comparing', 'weighing', 'asking', 'done')),
    list_cursor      text        NOT NULL DEFAULT '', -- of the next page
    after_operation  uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- compared up to and with this one
    pages            integer     NOT NULL DEFAULT 0,
    listed           bigint      NOT NULL DEFAULT 0,
    told             bigint      NOT NULL DEFAULT 0, -- movements that became evidence
    asked            bigint      NOT NULL DEFAULT 0, -- inquiries
    found            bigint      NOT NULL DEFAULT 0, -- findings that were new or opened again
    version          bigint      NOT NULL DEFAULT 0, -- rises when a scanner takes it; a step for an older one falls
    lease_until      timestamptz,
    started_at       timestamptz NOT NULL DEFAULT payonce_now(),
    finished_at      timestamptz,
    CONSTRAINT a_window_has_a_length CHECK (from_at < to_at),
    CONSTRAINT what_is_done_says_when CHECK ((phase = 'done') = (finished_at IS NOT NULL))
);
-- A window is scanned by one scan at a time, and the schedule has one at a time.
CREATE UNIQUE INDEX drift_scan_unfinished ON drift_scan (provider_account, identity, from_at, to_at) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX drift_scan_scheduled ON drift_scan (provider_account, identity) WHERE finished_at IS NULL AND scheduled;

-- What the list of an unfinished scan named. Rows go as they are weighed.
CREATE TABLE drift_seen
(
    scan_id      uuid        NOT NULL REFERENCES drift_scan (id),
    object_id    text        NOT NULL CHECK (length(object_id) BETWEEN 1 AND 255),
    reference    text        NOT NULL CHECK (length(reference) <= 255),
    operation_id uuid, -- the reference, where it has the form of ours; there may be no such operation
    kind         text        NOT NULL,
    verdict      text        NOT NULL,
    amount_minor bigint, -- null where it cannot be read as money
    currency     text,
    created_at   timestamptz NOT NULL, -- the provider's clock
    asked_at     timestamptz NOT NULL, -- database clock, before the page was asked for
    tries        integer     NOT NULL DEFAULT 0,
    PRIMARY KEY (scan_id, object_id)
);
CREATE INDEX drift_seen_of_operation ON drift_seen (scan_id, operation_id) WHERE operation_id IS NOT NULL;
CREATE INDEX drift_seen_next ON drift_seen (scan_id, tries, operation_id, object_id);

-- Operations that the provider is to be asked about, because the list and the books
-- do not agree about them.
CREATE TABLE drift_question
(
    scan_id      uuid    NOT NULL REFERENCES drift_scan (id),
    operation_id uuid    NOT NULL REFERENCES operation (id),
    object_id    text    NOT NULL DEFAULT '' CHECK (length(object_id) <= 255), -- the movement; '' for the operation's own
    tries        integer NOT NULL DEFAULT 0,
    PRIMARY KEY (scan_id, operation_id, object_id)
);
CREATE INDEX drift_question_next ON drift_question (scan_id, tries, operation_id, object_id);

-- Operations of scanned windows that were not final yet, or were sent again after
-- their window: a later scan compares them.
CREATE TABLE drift_later
(
    operation_id     uuid PRIMARY KEY REFERENCES operation (id),
    provider_account text NOT NULL
);
CREATE INDEX drift_later_of_account ON drift_later (provider_account, operation_id);

-- What a scan found and no rule may settle: for a person. A difference that the rules
-- of cases can judge becomes evidence, and its case, instead.
CREATE TABLE drift_finding
(
    id               uuid PRIMARY KEY,
    provider_account text        NOT NULL,
    kind             text        NOT NULL
        CHECK (kind IN ('unasked', 'other_account', 'other_kind', 'unreadable', 'not_listed', 'unsettled', 'unapplied')),
    object_id        text        NOT NULL DEFAULT '', -- '' where it is about what an operation of ours succeeded with
    reference        text        NOT NULL DEFAULT '',
    operation_id     uuid REFERENCES operation (id),
    movement         text        NOT NULL DEFAULT '', -- charge, refund or void
    verdict          text        NOT NULL,
    amount_minor     bigint,
    currency         text,
    created_at       timestamptz, -- the provider's clock
    seen_at          timestamptz NOT NULL DEFAULT payonce_now(),
    state            text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'explained')),
    explained_by     text CHECK (length(explained_by) BETWEEN 1 AND 210),
    reason           text CHECK (length(reason) BETWEEN 1 AND 2000),
    explained_at     timestamptz,
    CONSTRAINT money_has_a_currency CHECK ((amount_minor IS NULL) = (currency IS NULL)),
    CONSTRAINT an_explanation_is_whole
        CHECK (num_nonnulls(explained_by, reason, explained_at) = CASE state WHEN 'explained' THEN 3 ELSE 0 END),
    CONSTRAINT a_difference_is_found_once UNIQUE NULLS NOT DISTINCT (provider_account, kind, object_id, operation_id)
);
CREATE INDEX drift_finding_open ON drift_finding (provider_account, id) WHERE state = 'open';
CREATE INDEX drift_finding_open_of_operation ON drift_finding (operation_id) WHERE state = 'open' AND operation_id IS NOT NULL;
CREATE TRIGGER drift_finding_stays
    BEFORE DELETE OR TRUNCATE ON drift_finding
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT ON drift_scanned, drift_scan, drift_seen, drift_question, drift_later, drift_finding TO payonce_app;
GRANT UPDATE (scanned_until) ON drift_scanned TO payonce_app;
GRANT UPDATE (phase, list_cursor, after_operation, pages, listed, told, asked, found, version, lease_until, finished_at) ON drift_scan TO payonce_app;
GRANT UPDATE (reference, operation_id, kind, verdict, amount_minor, currency, created_at, asked_at, tries), DELETE ON drift_seen TO payonce_app;
GRANT UPDATE (tries), DELETE ON drift_question TO payonce_app;
GRANT DELETE ON drift_later TO payonce_app;
GRANT UPDATE (verdict, amount_minor, currency, seen_at, state, explained_by, reason, explained_at) ON drift_finding TO payonce_app;
