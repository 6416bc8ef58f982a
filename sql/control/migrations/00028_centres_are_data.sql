-- +goose Up

-- Centres are data, as sources are. What an older member stores is the configuration's.
ALTER TABLE control.centre ADD COLUMN defined_by text NOT NULL DEFAULT 'configuration'
  CHECK (defined_by IN ('profile', 'configuration', 'person'));
COMMENT ON TABLE control.centre IS 'the centres that names and sources may speak of: members judge by them';
COMMENT ON COLUMN control.centre.defined_by IS 'profile, configuration or person: the configuration owns how it defines a centre, people may define the others';
