-- +goose Up

ALTER TABLE control.ignored ADD COLUMN rule text NOT NULL DEFAULT '';
COMMENT ON COLUMN control.ignored.rule IS 'the filter of the source that excludes the entry';
COMMENT ON COLUMN control.ignored.reason IS 'directory, not_a_regular_file, not_zip, filtered or repeated';
