-- +goose Up

-- What sources say of files beside size and time, such as the fields of an item of a feed.
-- Null in what was told before, which nobody has kept.
ALTER TABLE tracker.file_source_has_zip ADD COLUMN attributes jsonb;
COMMENT ON COLUMN tracker.file_source_has_zip.attributes IS 'what the source said of this look beside size and time, by name, such as title, categories, etag and version_id; null: nothing';
