-- +goose Up

-- Sources are data: how each is reached stands here, its polls and jobs carry it,
-- and members need no configuration of it.
ALTER TABLE control.source
  ADD COLUMN definition jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN declared boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN control.source.definition IS 'the source with the keys of the configuration, secrets as references; {} until schedule has stored it';
COMMENT ON COLUMN control.source.declared IS 'whether a configuration defines it; else a person does';

-- A member whose configuration was replaced by another's undoes nothing.
CREATE TABLE control.declaration (
  digest text PRIMARY KEY,
  revision bigint NOT NULL UNIQUE,
  declared_at timestamptz NOT NULL);
COMMENT ON TABLE control.declaration IS 'the sources and centres that configurations have declared; the one of the greatest revision counts';
COMMENT ON COLUMN control.declaration.digest IS 'sha256 of all that the configuration declares';
