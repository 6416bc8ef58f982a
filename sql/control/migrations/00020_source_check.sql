-- +goose Up

-- A source that is new, or reached in another way, is checked step by step by its
-- first poll, and nothing is taken from it before that has passed.
ALTER TABLE control.source
  ADD COLUMN checked jsonb,
  ADD COLUMN passed text NOT NULL DEFAULT '';
COMMENT ON COLUMN control.source.checked IS 'the last check of it by a poll: when, by which session, and each step with its time and what to do where it failed; null before any';
COMMENT ON COLUMN control.source.passed IS 'md5 of the definition that has passed its check; empty: none has, or the last poll failed';
