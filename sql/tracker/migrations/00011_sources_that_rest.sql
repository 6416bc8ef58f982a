-- +goose Up

ALTER TABLE tracker.file_source
  ADD COLUMN suspended_at timestamptz,
  ADD COLUMN suspended_why text,
  ADD COLUMN overruns bigint;
COMMENT ON COLUMN tracker.file_source.suspended_at IS 'since when it is suspended; null while it is not';
COMMENT ON COLUMN tracker.file_source.suspended_why IS 'why it is suspended: how many polls failed, and how the last of them did';
COMMENT ON COLUMN tracker.file_source.overruns IS 'how often a poll of it had not ended when the next was due; null: never';
