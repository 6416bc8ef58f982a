-- +goose Up

-- Why nothing is fetched of what a source shows, where the file itself has no
-- fault: null in what was told before, until tributary tracker rebuild.
ALTER TABLE tracker.file_source_has_zip ADD COLUMN message text;
COMMENT ON COLUMN tracker.file_source_has_zip.message IS 'why the file can''t be fetched as this source shows it, with what would change that';
COMMENT ON COLUMN tracker.file_source_has_zip.note IS 'unsettled, duplicate, superseded, divergent_hosting; or why the file can''t be fetched from here, such as centre_not_hosted_here';
COMMENT ON COLUMN tracker.file_source_has_zip.state IS 'present or gone, as also where what it shows can''t be fetched; null while no look is known';
