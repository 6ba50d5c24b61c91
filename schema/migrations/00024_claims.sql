-- +goose Up
SET LOCAL lock_timeout = '1s';

-- A claim that rolled back leaves its fence to the next one, so a fence does not tell whose attempt it is. The
-- claim's own id does. Rows of a service that knows no claims have none, and their words neither.
--
-- "Not sent" lets an operation go back to created, where it may be claimed or canceled: about an attempt whose
-- request is on its way it would be a second charge. Only the claim that made the attempt says it.
-- (Not validated, because no older row has either.)
ALTER TABLE attempt
    ADD COLUMN claim_id uuid,
    ADD COLUMN not_sent_by uuid, -- the claim that said so
    ADD CONSTRAINT only_its_own_claim_says_not_sent CHECK (not_sent_by IS NOT DISTINCT FROM CASE WHEN not_sent THEN claim_id END) NOT VALID;
GRANT UPDATE (not_sent_by) ON attempt TO payonce_app;
