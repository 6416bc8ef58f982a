-- +goose Up

-- A dead letter of the role notify is retried by telling its target again.
ALTER TABLE control.dead_letter ADD COLUMN told_at timestamptz, ADD COLUMN told_error text NOT NULL DEFAULT '';
CREATE INDEX dead_letter_to_tell ON control.dead_letter (replayed_at) WHERE stage = 'notify' AND replayed_at IS NOT NULL AND told_at IS NULL;
COMMENT ON COLUMN control.dead_letter.told_at IS 'of a notice: when the retry has ended';
COMMENT ON COLUMN control.dead_letter.told_error IS 'of a notice: why the target was not told; empty if it was';

-- What somebody was told last, where no event is the reason.
CREATE TABLE control.told (
  kind text NOT NULL CHECK (kind IN ('late', 'week')),
  about text NOT NULL,
  last text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (kind, about));
COMMENT ON TABLE control.told IS 'what was told last: that a source is late, and the summary of a centre''s week';
COMMENT ON COLUMN control.told.about IS 'the source, or the centre';
COMMENT ON COLUMN control.told.last IS 'since when nothing new has come; or the week, as 2026-W48';
