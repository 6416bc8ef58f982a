-- +goose Up

-- Whose files a source may show, so that nothing is fetched from where it may not
-- be, whoever recorded it. Members of an older program leave it null.
ALTER TABLE control.source ADD COLUMN hosts text[];
COMMENT ON COLUMN control.source.hosts IS 'what the source may show: CENTRE, or CENTRE/ACTION where only some actions are granted; null: everything';
COMMENT ON COLUMN control.file.exception IS 'the rule that its name breaks, or why it ended before it was ever fetched: gone, source_removed, centre_not_hosted_here, or what is invalid about its entry';
