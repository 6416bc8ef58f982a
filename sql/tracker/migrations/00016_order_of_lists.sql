-- +goose Up

-- Lists are read a page at a time, by name or by the last change. What has not come
-- to a good end is a small part of all files, and asked for most.
CREATE INDEX ON tracker.zip_file (file_name COLLATE "C");
CREATE INDEX ON tracker.zip_file (centre_id, file_name COLLATE "C");
DROP INDEX tracker.zip_file_centre_id_idx;
CREATE INDEX ON tracker.zip_action (last_update, id);
CREATE INDEX zip_action_unfinished_idx ON tracker.zip_action (last_update, id) WHERE phase_id < {phase overview} OR status_id <> {status done};
-- From what was fetched to the file that shows it.
CREATE INDEX ON tracker.zip_action (download_id);
