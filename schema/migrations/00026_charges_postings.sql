-- +goose Up
SET LOCAL lock_timeout = '1s';

-- As in 00015, and: a charge's movement is booked to its own merchant, from its own account's clearing. Sums and
-- states alone would let it pass as what another merchant is owed. A refund's movement is the reverse of its
-- charge's; a case's lines are guard_case_postings()' to check. Names follow what is checked now.
ALTER TRIGGER a_refunds_posting_reverses_its_charge ON ledger_entry RENAME TO a_movement_is_booked_to_its_own_accounts;
ALTER FUNCTION guard_refund_postings() RENAME TO guard_movement_postings;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION guard_movement_postings() RETURNS trigger
    LANGUAGE plpgsql AS
$$
DECLARE
    broken uuid;
BEGIN
    SELECT a.operation_id INTO broken
    FROM added a
             JOIN public.operation o ON o.id = a.operation_id
             JOIN public.payment p ON p.id = o.payment_id
    WHERE a.purpose = 'movement' AND a.case_id IS NULL
      AND a.account <> CASE WHEN (a.amount_minor > 0) = (o.kind = 'charge') THEN 'provider:' || o.provider_account || ':clearing'
                            ELSE 'merchant:' || p.merchant_id || ':payable' END
    LIMIT 1;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'operation % is not booked between its provider account and its merchant', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_posting_books_what_moved';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
