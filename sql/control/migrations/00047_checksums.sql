-- +goose Up

-- Which sources show no checksums, so that none is asked for in vain.
ALTER TABLE control.source ADD COLUMN no_checksums_at timestamptz;
COMMENT ON COLUMN control.source.no_checksums_at IS 'when its last poll ended, if its complete listings show files, and no .md5 among them; null: they show one, or it is not known';
