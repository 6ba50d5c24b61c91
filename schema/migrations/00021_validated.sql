-- +goose NO TRANSACTION
-- +goose Up

-- What 00015 asks of new rows, the old ones keep, too. A table is read while payments go
-- on, in one statement each.
ALTER TABLE operation VALIDATE CONSTRAINT a_refund_serves_a_merchant_or_a_case;
ALTER TABLE operation VALIDATE CONSTRAINT a_refund_has_a_request;
ALTER TABLE operation VALIDATE CONSTRAINT a_refund_acts_on_something;
ALTER TABLE payment_case VALIDATE CONSTRAINT payment_case_kind_check;
