-- +goose Up

-- A row that changes is written beside itself, without any entry of an index, where its
-- page has room and no index is about what changes (HOT). Rows are written in batches, so
-- that a page needs room for all of its own once more.
ALTER TABLE tracker.zip_file SET (fillfactor = 50);
ALTER TABLE tracker.file_source_has_zip SET (fillfactor = 50);
ALTER TABLE tracker.zip_download SET (fillfactor = 50);
ALTER TABLE tracker.xml_file SET (fillfactor = 50);

-- Two indexes were about phase and status, in which each document moves several times.
-- What they were asked for changes once it is loaded, so it is a column. Each row is
-- written anew for that, once.
DROP INDEX tracker.xml_file_awaiting_idx;
DROP INDEX tracker.xml_file_decided_idx;
ALTER TABLE tracker.xml_file ADD COLUMN qc_status_id smallint GENERATED ALWAYS AS
  (CASE WHEN phase_id = {phase qc} THEN status_id WHEN phase_id = {phase overview} AND status_id = {status done} THEN {status pending}::smallint END) STORED;
COMMENT ON COLUMN tracker.xml_file.qc_status_id IS 'how quality control stands of it: pending while nobody has decided, else how the decision has it; null: it is not loaded, or was found wrong';
CREATE INDEX ON tracker.xml_file (qc_status_id, zip_id, outcome) WHERE qc_status_id IS NOT NULL;
