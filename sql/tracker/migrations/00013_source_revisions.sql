-- +goose Up

-- Sources are changed while all runs: each change is a row. Those of before are
-- told without a definition, and have none.
CREATE TABLE tracker.source_revision (
  id uuid PRIMARY KEY,
  file_source_id uuid NOT NULL REFERENCES tracker.file_source ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  revision bigint NOT NULL,
  state_id smallint REFERENCES tracker.resource_state ON UPDATE CASCADE ON DELETE CASCADE,
  declared boolean NOT NULL,
  definition text NOT NULL,
  message text,
  created timestamptz NOT NULL);
CREATE INDEX ON tracker.source_revision (file_source_id, revision);
COMMENT ON TABLE tracker.source_revision IS 'each source as it was from time to time: a row whenever its definition or its state changed';
COMMENT ON COLUMN tracker.source_revision.id IS 'follows from all that the row says';
COMMENT ON COLUMN tracker.source_revision.file_source_id IS 'the source';
COMMENT ON COLUMN tracker.source_revision.revision IS 'the greatest is how it is now';
COMMENT ON COLUMN tracker.source_revision.state_id IS 'its state from then on';
COMMENT ON COLUMN tracker.source_revision.declared IS 'whether a configuration defines it; else a person does';
COMMENT ON COLUMN tracker.source_revision.definition IS 'JSON with the keys of the configuration, secrets as references: definition::jsonb';
COMMENT ON COLUMN tracker.source_revision.message IS 'who changed it, and why, where a person did';
COMMENT ON COLUMN tracker.source_revision.created IS 'since when it was so';
