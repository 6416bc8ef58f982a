-- +goose Up

-- Sources are data: how each is reached stands here, its polls and jobs carry it,
-- and members need no configuration of it.
ALTER TABLE control.source
  ADD COLUMN definition jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN declared boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN control.source.definition IS 'the source with the keys of the configuration, secrets as references; {} until schedule has stored it';
COMMENT ON COLUMN control.source.declared IS 'whether a configuration defines it; else a person does';
