-- +goose Up

-- A person may hold a file: nothing of it begins until it is released. An older member
-- with the role plan knows nothing of it, and goes on with the file.
ALTER TABLE control.file
  ADD COLUMN held_at timestamptz,
  ADD COLUMN held_by text NOT NULL DEFAULT '',
  ADD COLUMN held_why text NOT NULL DEFAULT '';
CREATE INDEX file_held ON control.file (held_at) WHERE held_at IS NOT NULL;
COMMENT ON COLUMN control.file.held_at IS 'since when a person holds it, so that nothing of it begins; null: nobody does';
COMMENT ON COLUMN control.file.held_by IS 'who holds it';
COMMENT ON COLUMN control.file.held_why IS 'why, as they said';
