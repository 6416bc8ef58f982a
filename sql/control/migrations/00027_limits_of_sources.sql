-- +goose Up

-- A source may limit what its polls take up: each of them, and a day. An older member
-- counts nothing and keeps to poll.max_new, as before.
CREATE TABLE control.source_day (
  source text NOT NULL,
  day date NOT NULL,
  files bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (source, day));
COMMENT ON TABLE control.source_day IS 'what was taken up of a source on a day in its time zone, by polls and as others announced it; of its last days';
COMMENT ON COLUMN control.source_day.files IS 'new and changed files; one that still grows counts once';
COMMENT ON COLUMN control.source_day.bytes IS 'of them, as the source lists them; of one that still grows what it has grown by';

ALTER TABLE control.poll
  ADD COLUMN taken bigint NOT NULL DEFAULT 0,
  ADD COLUMN taken_bytes bigint NOT NULL DEFAULT 0,
  ADD COLUMN stopped_by text NOT NULL DEFAULT '';
COMMENT ON COLUMN control.poll.taken IS 'new and changed files that it took up';
COMMENT ON COLUMN control.poll.taken_bytes IS 'of them, as the source lists them; of one that still grows what it has grown by';
COMMENT ON COLUMN control.poll.stopped_by IS 'the limit by which it left files to the next polls: files_per_poll, bytes_per_poll, files_per_day or bytes_per_day';
COMMENT ON COLUMN control.poll.postponed IS 'new and changed files that it showed beyond the limit that it was stopped by, left to the next polls';
