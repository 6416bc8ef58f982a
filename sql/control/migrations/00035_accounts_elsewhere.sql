-- +goose Up

-- Accounts of people who log in with a provider (OpenID Connect), which is who knows
-- them: nobody logs in here with a password of theirs.
ALTER TABLE control.account ADD COLUMN issuer text NOT NULL DEFAULT '', ADD COLUMN subject text NOT NULL DEFAULT '';
ALTER TABLE control.account ADD CHECK ((issuer = '') = (subject = '')), ADD CHECK (issuer = '' OR password = '');
COMMENT ON COLUMN control.account.issuer IS 'the provider with which they log in; empty: with a password, here';
COMMENT ON COLUMN control.account.subject IS 'who they are there, which never changes; empty: they log in here';
