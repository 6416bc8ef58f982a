-- +goose Up

ALTER TABLE control.source ADD COLUMN twins jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN control.source.twins IS 'by directory, how many names its last listing showed that differ from another only in case or in how accents are written, and the first of them, together';
