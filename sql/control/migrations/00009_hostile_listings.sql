-- +goose Up

-- What listings show and nobody takes up is kept by name, within a bound, so that
-- a person can tell what is missing.
ALTER TABLE control.source ADD COLUMN ignored bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN control.source.ignored IS 'entries that its last complete listing showed and was passed over; control.ignored names the first of them';

CREATE TABLE control.ignored (
  source text NOT NULL REFERENCES control.source, ordinal int NOT NULL,
  directory text NOT NULL, name text NOT NULL, reason text NOT NULL,
  PRIMARY KEY (source, ordinal));
COMMENT ON TABLE control.ignored IS 'entries of a source''s last complete listing that are no files of ours, the first poll.max_ignored of them';
COMMENT ON COLUMN control.ignored.reason IS 'directory, not_a_regular_file, not_zip or repeated';

-- What has not settled at a source that is removed is found without a look at all
-- that it hosts.
CREATE INDEX hosting_unsettled ON control.hosting (source, file) WHERE state = 'present' AND NOT settled;

COMMENT ON COLUMN control.file.exception IS 'the rule that its name breaks, or why it ended before it was ever fetched: gone, source_removed, or what is invalid about its entry';
