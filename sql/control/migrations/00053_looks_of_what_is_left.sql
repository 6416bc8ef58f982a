-- +goose Up

-- Bounds of size and age are tried on what a source leaves by now, too. Members of older
-- programs leave both unknown.
ALTER TABLE control.ignored ADD COLUMN size bigint NOT NULL DEFAULT -1, ADD COLUMN changed_by timestamptz;
COMMENT ON COLUMN control.ignored.size IS 'bytes, of what filters or other keys of the source leave; -1: not known';
COMMENT ON COLUMN control.ignored.changed_by IS 'likewise when it was changed at the latest, by the server''s clock; null: not known';
