-- +goose Up

-- A person may give a file that waits a priority of its own. What is begun of the file
-- takes it along, so that the next files of a source are found by an index. An older
-- member with the role plan knows nothing of it, and leaves it as it is.
ALTER TABLE control.file
  ADD COLUMN priority smallint CHECK (priority BETWEEN 0 AND 9),
  ADD COLUMN priority_by text NOT NULL DEFAULT '',
  ADD COLUMN priority_why text NOT NULL DEFAULT '';
ALTER TABLE control.acquisition ADD COLUMN priority smallint CHECK (priority BETWEEN 0 AND 9);
CREATE INDEX acquisition_priority ON control.acquisition (source, priority DESC, not_before, id) WHERE state = 'wanted' AND priority IS NOT NULL;
COMMENT ON COLUMN control.file.priority IS 'what a person has given the file in place of its source''s priority, until it is fetched; null: nobody has';
COMMENT ON COLUMN control.file.priority_by IS 'who gave it';
COMMENT ON COLUMN control.file.priority_why IS 'why, as they said';
COMMENT ON COLUMN control.acquisition.priority IS 'its file''s, when that was given or this began; null: that of its source';
