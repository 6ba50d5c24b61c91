-- +goose Up

-- An account is named by what it is for: provider:P:clearing, merchant:M:payable.
CREATE TABLE ledger_account
(
    code       text        NOT NULL CHECK (length(code) BETWEEN 1 AND 200),
    currency   text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    created_at timestamptz NOT NULL DEFAULT payonce_now(),
    PRIMARY KEY (code, currency)
);

-- The lines of postings. Debits are positive, credits negative, and the lines
-- of a posting sum to zero. A posting belongs to one operation and one purpose,
-- which the primary key makes unique: the same movement cannot be booked twice.
CREATE TABLE ledger_entry
(
    operation_id uuid        NOT NULL REFERENCES operation (id),
    purpose      text        NOT NULL CHECK (purpose IN ('movement')),
    line         smallint    NOT NULL CHECK (line >= 1),
    account      text        NOT NULL,
    currency     text        NOT NULL,
    amount_minor bigint      NOT NULL CHECK (amount_minor <> 0),
    posted_at    timestamptz NOT NULL DEFAULT payonce_now(),
    PRIMARY KEY (operation_id, purpose, line),
    FOREIGN KEY (account, currency) REFERENCES ledger_account (code, currency)
);
CREATE INDEX ledger_entry_account ON ledger_entry (account, currency, posted_at);
CREATE TRIGGER ledger_entry_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Checked once per statement, over all lines that it added: a posting comes in
-- one statement, balances, and books exactly what its operation moved.
-- +goose StatementBegin
CREATE FUNCTION guard_postings() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    broken uuid;
BEGIN
    SELECT a.operation_id INTO broken
    FROM added a
    GROUP BY a.operation_id, a.purpose
    HAVING sum(a.amount_minor) <> 0 OR count(DISTINCT a.currency) <> 1 OR min(a.line) <> 1
    LIMIT 1;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'the posting for operation % does not balance', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_posting_balances';
    END IF;
    SELECT a.operation_id INTO broken
    FROM (SELECT operation_id, currency, sum(amount_minor) FILTER (WHERE amount_minor > 0) AS moved
          FROM added WHERE purpose = 'movement' GROUP BY operation_id, currency) a
             JOIN public.operation o ON o.id = a.operation_id
    WHERE o.state <> 'succeeded' OR o.amount_minor <> a.moved OR o.currency <> a.currency
    LIMIT 1;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'operation % has not succeeded with the amount that is being posted', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_posting_books_what_moved';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER postings_balance_and_book_what_moved
    AFTER INSERT ON ledger_entry
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION guard_postings();

GRANT SELECT, INSERT ON ledger_account, ledger_entry TO payonce_app;
