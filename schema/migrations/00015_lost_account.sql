-- +goose Up

-- What was lost was sent by nobody knows which recipe, but to the account at the
-- provider that others were sent to at that time: '@' and that account. Nothing at
-- all where no attempt of the account survived.
ALTER TABLE attempt DROP CONSTRAINT what_was_lost_has_no_recipe;
ALTER TABLE attempt
    ADD CONSTRAINT what_was_lost_has_no_recipe CHECK (epoch_id IS NULL OR recipe = '' OR recipe LIKE '@_%') NOT VALID;
