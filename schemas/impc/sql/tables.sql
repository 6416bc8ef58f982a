-- Tables of the profile's own: a list of projects, and what keeps context and
-- overview up to date batch by batch. Run at every start.

CREATE TABLE IF NOT EXISTS warehouse.known_project (
  name text PRIMARY KEY);
COMMENT ON TABLE warehouse.known_project IS 'projects that documents may name without a finding; add rows for more, and rows to warehouse.recheck for run_project_unknown and specimen_project_unknown, so that what is there is judged again';
COMMENT ON COLUMN warehouse.known_project.name IS 'as documents spell it';
INSERT INTO warehouse.known_project (name) VALUES
  ('MGP Legacy'), ('EUCOMM-EUMODIC'), ('UCD-KOMP'), ('MGP'), ('MARC'), ('EUCOMMToolsCre'), ('RIKEN BRC'), ('DTCC'), ('BaSH'),
  ('Monterotondo'), ('JAX'), ('Helmholtz GMC'), ('DTCC-Legacy'), ('MRC'), ('NorCOMM2'), ('Phenomin'), ('KMPC')
ON CONFLICT DO NOTHING;

-- The context. Its dimensions are few beside its parameters, so that they have
-- rows of their own; the view context puts them together.

CREATE TABLE IF NOT EXISTS warehouse.context_group (
  id uuid PRIMARY KEY,
  centre text NOT NULL, procedure_id text NOT NULL, pipeline text NOT NULL, project text NOT NULL,
  strain_id text NOT NULL, colony_id text NOT NULL, zygosity text NOT NULL, sex text NOT NULL);
CREATE INDEX IF NOT EXISTS context_group_centre ON warehouse.context_group (centre);
COMMENT ON TABLE warehouse.context_group IS 'combinations of dimensions that current runs have; what is not known is empty';
COMMENT ON COLUMN warehouse.context_group.id IS 'digest of all dimensions';
COMMENT ON COLUMN warehouse.context_group.centre IS 'short name of the centre';
COMMENT ON COLUMN warehouse.context_group.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.context_group.pipeline IS 'the pipeline of the run';
COMMENT ON COLUMN warehouse.context_group.project IS 'the project of the run';
COMMENT ON COLUMN warehouse.context_group.strain_id IS 'strain of a specimen of the run';
COMMENT ON COLUMN warehouse.context_group.colony_id IS 'colony of a specimen of the run, or of the line';
COMMENT ON COLUMN warehouse.context_group.zygosity IS 'zygosity of a specimen of the run';
COMMENT ON COLUMN warehouse.context_group.sex IS 'sex of a specimen of the run';

CREATE TABLE IF NOT EXISTS warehouse.context_run (
  position bigint NOT NULL, record int NOT NULL, group_id uuid NOT NULL, day date, measurements int NOT NULL,
  PRIMARY KEY (position, record, group_id));
CREATE INDEX IF NOT EXISTS context_run_day ON warehouse.context_run (group_id, day);
COMMENT ON TABLE warehouse.context_run IS 'as what each current run with measurements is counted in the context, so that it can be taken away exactly: one row per combination of dimensions among its specimens';
COMMENT ON COLUMN warehouse.context_run.position IS 'the document of the run';
COMMENT ON COLUMN warehouse.context_run.record IS 'the run in the document';
COMMENT ON COLUMN warehouse.context_run.group_id IS 'the combination';
COMMENT ON COLUMN warehouse.context_run.day IS 'the day of the experiment, or of the housing''s last change';
COMMENT ON COLUMN warehouse.context_run.measurements IS 'values in the run';

-- One row per combination, not per parameter: the runs of a procedure have much
-- the same parameters, which so change together.
CREATE TABLE IF NOT EXISTS warehouse.context_parameter (
  group_id uuid PRIMARY KEY, parameter_ids text[] NOT NULL,
  runs bigint[] NOT NULL, measurements bigint[] NOT NULL, first_dates date[] NOT NULL, last_dates date[] NOT NULL,
  stale text[]) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS context_parameter_stale ON warehouse.context_parameter (group_id) WHERE stale IS NOT NULL;
COMMENT ON TABLE warehouse.context_parameter IS 'what there is of each parameter for each combination of dimensions';
COMMENT ON COLUMN warehouse.context_parameter.group_id IS 'the combination';
COMMENT ON COLUMN warehouse.context_parameter.parameter_ids IS 'the parameters; the first 500 characters of each';
COMMENT ON COLUMN warehouse.context_parameter.runs IS 'current runs with each parameter';
COMMENT ON COLUMN warehouse.context_parameter.measurements IS 'current values of each parameter';
COMMENT ON COLUMN warehouse.context_parameter.first_dates IS 'first day of each parameter; null if there is none, as with lines';
COMMENT ON COLUMN warehouse.context_parameter.last_dates IS 'last day of each parameter';
COMMENT ON COLUMN warehouse.context_parameter.stale IS 'the parameters of which the run of the first or last day has gone; empty if no parameter is left; not null only within a batch''s end';

-- The overview. The view overview puts it together.

CREATE TABLE IF NOT EXISTS warehouse.overview_part (
  centre text NOT NULL, procedure_id text NOT NULL, file_date text NOT NULL,
  specimens bigint NOT NULL DEFAULT 0, experiments bigint NOT NULL DEFAULT 0, lines bigint NOT NULL DEFAULT 0, housings bigint NOT NULL DEFAULT 0,
  measurements bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (centre, procedure_id, file_date)) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS overview_part_empty ON warehouse.overview_part (centre) WHERE specimens + experiments + lines + housings = 0;
COMMENT ON TABLE warehouse.overview_part IS 'numbers of current rows per centre, procedure and date of the files that they come from';
COMMENT ON COLUMN warehouse.overview_part.centre IS 'short name of the centre';
COMMENT ON COLUMN warehouse.overview_part.procedure_id IS 'the procedure, its first 500 characters; empty for specimens, and for experiments without one';
COMMENT ON COLUMN warehouse.overview_part.file_date IS 'YYYY-MM-DD, of the names of the files';
COMMENT ON COLUMN warehouse.overview_part.specimens IS 'current specimens';
COMMENT ON COLUMN warehouse.overview_part.experiments IS 'current experiments';
COMMENT ON COLUMN warehouse.overview_part.lines IS 'current lines';
COMMENT ON COLUMN warehouse.overview_part.housings IS 'current housings';
COMMENT ON COLUMN warehouse.overview_part.measurements IS 'current values';

CREATE TABLE IF NOT EXISTS warehouse.overview_record (
  position bigint NOT NULL, record int NOT NULL,
  centre text NOT NULL, kind text NOT NULL, procedure_id text NOT NULL, file_date text NOT NULL, measurements bigint NOT NULL,
  PRIMARY KEY (position, record));
COMMENT ON TABLE warehouse.overview_record IS 'as what each current run and specimen is counted in the overview, so that it can be taken away exactly';
COMMENT ON COLUMN warehouse.overview_record.position IS 'the document';
COMMENT ON COLUMN warehouse.overview_record.record IS 'the run or specimen in the document';
COMMENT ON COLUMN warehouse.overview_record.centre IS 'short name of the centre';
COMMENT ON COLUMN warehouse.overview_record.kind IS 'specimen, experiment, line or housing';
COMMENT ON COLUMN warehouse.overview_record.procedure_id IS 'the procedure; empty if there is none';
COMMENT ON COLUMN warehouse.overview_record.file_date IS 'YYYY-MM-DD, of the name of the file';
COMMENT ON COLUMN warehouse.overview_record.measurements IS 'values in the run';
