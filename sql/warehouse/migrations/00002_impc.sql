-- +goose Up

CREATE TABLE warehouse.submission (
  position bigint NOT NULL, ordinal int NOT NULL,
  centre text NOT NULL, pipeline text, project text,
  PRIMARY KEY (position, ordinal));
COMMENT ON TABLE warehouse.submission IS 'what a document submits for one centre, pipeline and project: one row per centre element';
COMMENT ON COLUMN warehouse.submission.position IS 'the document';
COMMENT ON COLUMN warehouse.submission.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.submission.centre IS 'short name of the centre';
COMMENT ON COLUMN warehouse.submission.pipeline IS 'pipeline; null for specimens, which have their own';
COMMENT ON COLUMN warehouse.submission.project IS 'project; null for specimens, which have their own';

CREATE TABLE warehouse.specimen (
  position bigint NOT NULL, ordinal int NOT NULL, submission int NOT NULL,
  line int NOT NULL, col int NOT NULL, claim uuid NOT NULL,
  tombstone boolean NOT NULL, is_current boolean NOT NULL,
  kind text NOT NULL, centre text NOT NULL, specimen_id text NOT NULL,
  colony_id text, strain_id text, is_baseline boolean, gender text, zygosity text, litter_id text,
  pipeline text, project text, phenotyping_centre text, production_centre text,
  dob date, stage text, stage_unit text, status_code text, status_date date,
  PRIMARY KEY (position, ordinal)) WITH (fillfactor = 90);
CREATE INDEX specimen_claim ON warehouse.specimen (claim);
CREATE INDEX specimen_natural ON warehouse.specimen (specimen_id, centre);
CREATE TABLE warehouse.specimen_changed (
  position bigint NOT NULL, ordinal int NOT NULL, centre text NOT NULL,
  PRIMARY KEY (position, ordinal))
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX specimen_changed_centre ON warehouse.specimen_changed (centre);
COMMENT ON TABLE warehouse.specimen_changed IS 'rows that became current since the last batch end of their centre, or ceased to be';
COMMENT ON COLUMN warehouse.specimen_changed.position IS 'of the row';
COMMENT ON COLUMN warehouse.specimen_changed.ordinal IS 'of the row';
COMMENT ON COLUMN warehouse.specimen_changed.centre IS 'of the row';
COMMENT ON TABLE warehouse.specimen IS 'mice and embryos: every claim that a document makes about one; the current ones are in the view current_specimen';
COMMENT ON COLUMN warehouse.specimen.position IS 'the document';
COMMENT ON COLUMN warehouse.specimen.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.specimen.submission IS 'ordinal of the enclosing submission';
COMMENT ON COLUMN warehouse.specimen.line IS 'line of the element in the document, from 1';
COMMENT ON COLUMN warehouse.specimen.col IS 'column of the element, in bytes of UTF-8, from 1';
COMMENT ON COLUMN warehouse.specimen.claim IS 'identity of the natural key: centre and specimen_id';
COMMENT ON COLUMN warehouse.specimen.tombstone IS 'whether it says that the key is gone';
COMMENT ON COLUMN warehouse.specimen.is_current IS 'whether this is what holds now: the greatest claim on its key that is not withdrawn, and no tombstone';
COMMENT ON COLUMN warehouse.specimen.kind IS 'mouse or embryo';
COMMENT ON COLUMN warehouse.specimen.centre IS 'the centre that submitted it';
COMMENT ON COLUMN warehouse.specimen.specimen_id IS 'the centre''s name of it, unique within the centre';
COMMENT ON COLUMN warehouse.specimen.colony_id IS 'the colony of a mutant';
COMMENT ON COLUMN warehouse.specimen.strain_id IS 'the strain';
COMMENT ON COLUMN warehouse.specimen.is_baseline IS 'whether it is of the baseline strain';
COMMENT ON COLUMN warehouse.specimen.gender IS 'female, male, intersex or no data';
COMMENT ON COLUMN warehouse.specimen.zygosity IS 'in how many copies it has its line''s allele';
COMMENT ON COLUMN warehouse.specimen.litter_id IS 'its litter';
COMMENT ON COLUMN warehouse.specimen.pipeline IS 'the pipeline it goes through';
COMMENT ON COLUMN warehouse.specimen.project IS 'for which project';
COMMENT ON COLUMN warehouse.specimen.phenotyping_centre IS 'who measures it';
COMMENT ON COLUMN warehouse.specimen.production_centre IS 'who made its line';
COMMENT ON COLUMN warehouse.specimen.dob IS 'date of birth of a mouse';
COMMENT ON COLUMN warehouse.specimen.stage IS 'stage of an embryo';
COMMENT ON COLUMN warehouse.specimen.stage_unit IS 'unit of the stage';
COMMENT ON COLUMN warehouse.specimen.status_code IS 'why it has no, or no usual, result';
COMMENT ON COLUMN warehouse.specimen.status_date IS 'since when';

CREATE TABLE warehouse.procedure_run (
  position bigint NOT NULL, ordinal int NOT NULL, submission int NOT NULL,
  line int NOT NULL, col int NOT NULL, claim uuid NOT NULL,
  tombstone boolean NOT NULL, is_current boolean NOT NULL,
  kind text NOT NULL, centre text NOT NULL, pipeline text, project text,
  experiment_id text, sequence_id text, date_of_experiment date,
  colony_id text, from_lims boolean, last_updated date,
  procedure_id text, specimen_ids text[],
  PRIMARY KEY (position, ordinal)) WITH (fillfactor = 90);
CREATE INDEX procedure_run_claim ON warehouse.procedure_run (claim);
CREATE INDEX procedure_run_procedure ON warehouse.procedure_run (centre, procedure_id);
CREATE TABLE warehouse.procedure_run_changed (
  position bigint NOT NULL, ordinal int NOT NULL, centre text NOT NULL,
  PRIMARY KEY (position, ordinal))
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX procedure_run_changed_centre ON warehouse.procedure_run_changed (centre);
COMMENT ON TABLE warehouse.procedure_run_changed IS 'rows that became current since the last batch end of their centre, or ceased to be';
COMMENT ON COLUMN warehouse.procedure_run_changed.position IS 'of the row';
COMMENT ON COLUMN warehouse.procedure_run_changed.ordinal IS 'of the row';
COMMENT ON COLUMN warehouse.procedure_run_changed.centre IS 'of the row';
COMMENT ON TABLE warehouse.procedure_run IS 'procedures carried out, on specimens (experiment), on a colony (line) or about housing: every claim that a document makes about one; the current ones are in the view current_procedure_run';
COMMENT ON COLUMN warehouse.procedure_run.position IS 'the document';
COMMENT ON COLUMN warehouse.procedure_run.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.procedure_run.submission IS 'ordinal of the enclosing submission';
COMMENT ON COLUMN warehouse.procedure_run.line IS 'line of the element in the document, from 1';
COMMENT ON COLUMN warehouse.procedure_run.col IS 'column of the element, in bytes of UTF-8, from 1';
COMMENT ON COLUMN warehouse.procedure_run.claim IS 'identity of the natural key, which depends on the kind';
COMMENT ON COLUMN warehouse.procedure_run.tombstone IS 'whether it says that the key is gone';
COMMENT ON COLUMN warehouse.procedure_run.is_current IS 'whether this is what holds now: the greatest claim on its key that is not withdrawn, and no tombstone';
COMMENT ON COLUMN warehouse.procedure_run.kind IS 'experiment, line or housing';
COMMENT ON COLUMN warehouse.procedure_run.centre IS 'the centre that submitted it';
COMMENT ON COLUMN warehouse.procedure_run.pipeline IS 'the pipeline';
COMMENT ON COLUMN warehouse.procedure_run.project IS 'the project';
COMMENT ON COLUMN warehouse.procedure_run.experiment_id IS 'the centre''s name of an experiment';
COMMENT ON COLUMN warehouse.procedure_run.sequence_id IS 'tells repeats of an experiment or line apart';
COMMENT ON COLUMN warehouse.procedure_run.date_of_experiment IS 'when an experiment was done';
COMMENT ON COLUMN warehouse.procedure_run.colony_id IS 'the colony of a line';
COMMENT ON COLUMN warehouse.procedure_run.from_lims IS 'whether a housing comes from the centre''s database';
COMMENT ON COLUMN warehouse.procedure_run.last_updated IS 'when a housing was last changed';
COMMENT ON COLUMN warehouse.procedure_run.procedure_id IS 'the procedure; null where a status code stands instead';
COMMENT ON COLUMN warehouse.procedure_run.specimen_ids IS 'the specimens of an experiment, in the document''s order';

CREATE TABLE warehouse.run_specimen (
  position bigint NOT NULL, ordinal int NOT NULL, procedure_run int NOT NULL,
  specimen_id text NOT NULL,
  PRIMARY KEY (position, procedure_run, ordinal));
CREATE INDEX run_specimen_specimen ON warehouse.run_specimen (specimen_id);
COMMENT ON TABLE warehouse.run_specimen IS 'the specimens of an experiment';
COMMENT ON COLUMN warehouse.run_specimen.position IS 'the document';
COMMENT ON COLUMN warehouse.run_specimen.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.run_specimen.procedure_run IS 'ordinal of the run';
COMMENT ON COLUMN warehouse.run_specimen.specimen_id IS 'as the centre names it';

CREATE TABLE warehouse.run_status (
  position bigint NOT NULL, ordinal int NOT NULL, procedure_run int NOT NULL,
  status_code text, status_date date,
  PRIMARY KEY (position, procedure_run, ordinal));
COMMENT ON TABLE warehouse.run_status IS 'status codes of runs: why there is no, or no usual, result';
COMMENT ON COLUMN warehouse.run_status.position IS 'the document';
COMMENT ON COLUMN warehouse.run_status.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.run_status.procedure_run IS 'ordinal of the run';
COMMENT ON COLUMN warehouse.run_status.status_code IS 'the code, with its text where there is one';
COMMENT ON COLUMN warehouse.run_status.status_date IS 'since when';

CREATE TABLE warehouse.measurement (
  position bigint NOT NULL, ordinal int NOT NULL, procedure_run int NOT NULL,
  kind text NOT NULL, parameter_id text NOT NULL, sequence_id bigint,
  increment text, increment_status text, unit text, value text, status text,
  PRIMARY KEY (position, procedure_run, ordinal));
COMMENT ON TABLE warehouse.measurement IS 'values of parameters, one row a value; a parameter with a status and no value has one row without value';
COMMENT ON COLUMN warehouse.measurement.position IS 'the document';
COMMENT ON COLUMN warehouse.measurement.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.measurement.procedure_run IS 'ordinal of the run';
COMMENT ON COLUMN warehouse.measurement.kind IS 'simple, ontology, series or metadata';
COMMENT ON COLUMN warehouse.measurement.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.measurement.sequence_id IS 'tells repeats within a run apart';
COMMENT ON COLUMN warehouse.measurement.increment IS 'place of a value in its series';
COMMENT ON COLUMN warehouse.measurement.increment_status IS 'why a place in a series has no value';
COMMENT ON COLUMN warehouse.measurement.unit IS 'unit of the value';
COMMENT ON COLUMN warehouse.measurement.value IS 'as in the document';
COMMENT ON COLUMN warehouse.measurement.status IS 'why the parameter has no value';

CREATE TABLE warehouse.finding (
  position bigint NOT NULL, ordinal int NOT NULL, test text NOT NULL,
  centre text NOT NULL, procedure_id text, line int NOT NULL, col int NOT NULL,
  level text NOT NULL CHECK (level IN ('info', 'warn', 'error')), message text NOT NULL, open boolean NOT NULL,
  PRIMARY KEY (position, ordinal, test));
CREATE INDEX finding_open ON warehouse.finding (centre, test) WHERE open;
COMMENT ON TABLE warehouse.finding IS 'what data checks found in current rows; an open one holds, a closed one did';
COMMENT ON COLUMN warehouse.finding.position IS 'the document';
COMMENT ON COLUMN warehouse.finding.ordinal IS 'the row';
COMMENT ON COLUMN warehouse.finding.test IS 'stable name of the check';
COMMENT ON COLUMN warehouse.finding.centre IS 'the centre';
COMMENT ON COLUMN warehouse.finding.procedure_id IS 'the procedure of the run concerned';
COMMENT ON COLUMN warehouse.finding.line IS 'line in the document';
COMMENT ON COLUMN warehouse.finding.col IS 'column in the document';
COMMENT ON COLUMN warehouse.finding.level IS 'an error makes the document (data, failed)';
COMMENT ON COLUMN warehouse.finding.message IS 'for people';
COMMENT ON COLUMN warehouse.finding.open IS 'whether it holds';

CREATE TABLE warehouse.context (
  centre text NOT NULL, pipeline text NOT NULL, project text NOT NULL, procedure_id text NOT NULL, parameter_id text NOT NULL,
  measurements bigint NOT NULL, first_date date, last_date date,
  PRIMARY KEY (centre, procedure_id, parameter_id, pipeline, project));
COMMENT ON TABLE warehouse.context IS 'for what there are current measurements, kept up at each batch''s end';
COMMENT ON COLUMN warehouse.context.centre IS 'the centre';
COMMENT ON COLUMN warehouse.context.pipeline IS 'the pipeline; empty if not known';
COMMENT ON COLUMN warehouse.context.project IS 'the project; empty if not known';
COMMENT ON COLUMN warehouse.context.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.context.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.context.measurements IS 'current values';
COMMENT ON COLUMN warehouse.context.first_date IS 'first day of an experiment, or of a housing''s change';
COMMENT ON COLUMN warehouse.context.last_date IS 'last such day';

CREATE TABLE warehouse.overview (
  centre text NOT NULL, procedure_id text NOT NULL,
  specimens bigint NOT NULL DEFAULT 0, runs bigint NOT NULL DEFAULT 0, measurements bigint NOT NULL DEFAULT 0, findings bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (centre, procedure_id));
COMMENT ON TABLE warehouse.overview IS 'numbers of current rows per centre and procedure, kept up at each batch''s end';
COMMENT ON COLUMN warehouse.overview.centre IS 'the centre';
COMMENT ON COLUMN warehouse.overview.procedure_id IS 'the procedure; empty for what belongs to none, such as specimens';
COMMENT ON COLUMN warehouse.overview.specimens IS 'current specimens of the centre, in the row without procedure';
COMMENT ON COLUMN warehouse.overview.runs IS 'current runs';
COMMENT ON COLUMN warehouse.overview.measurements IS 'current values';
COMMENT ON COLUMN warehouse.overview.findings IS 'open findings';

CREATE VIEW warehouse.current_specimen AS
  SELECT s.centre, s.specimen_id, s.kind, s.colony_id, s.strain_id, s.is_baseline, s.gender, s.zygosity, s.litter_id,
    s.pipeline, s.project, s.phenotyping_centre, s.production_centre, s.dob, s.stage, s.stage_unit, s.status_code, s.status_date,
    s.position, s.ordinal
  FROM warehouse.specimen s WHERE s.is_current;
COMMENT ON VIEW warehouse.current_specimen IS 'the specimens that are known now';

CREATE VIEW warehouse.current_procedure_run AS
  SELECT r.centre, r.kind, r.pipeline, r.project, r.experiment_id, r.procedure_id, r.sequence_id, r.colony_id,
    r.date_of_experiment, r.from_lims, r.last_updated, r.specimen_ids,
    EXISTS (SELECT FROM warehouse.finding f JOIN warehouse.run_specimen rs ON rs.position = f.position AND rs.ordinal = f.ordinal
      WHERE f.open AND f.position = r.position AND rs.procedure_run = r.ordinal) AS has_findings,
    r.position, r.ordinal
  FROM warehouse.procedure_run r WHERE r.is_current;
COMMENT ON VIEW warehouse.current_procedure_run IS 'the experiments, lines and housings that hold now';

CREATE VIEW warehouse.current_measurement AS
  SELECT r.centre, r.kind AS run_kind, r.pipeline, r.project, r.experiment_id, r.procedure_id, r.sequence_id AS run_sequence_id,
    r.colony_id, r.specimen_ids, r.from_lims, r.last_updated,
    m.kind, m.parameter_id, m.sequence_id, m.increment, m.increment_status, m.unit, m.value, m.status,
    m.position, m.procedure_run AS run_ordinal, m.ordinal
  FROM warehouse.procedure_run r JOIN warehouse.measurement m ON m.position = r.position AND m.procedure_run = r.ordinal
  WHERE r.is_current;
COMMENT ON VIEW warehouse.current_measurement IS 'the values of the runs that hold now, one row a value, with what identifies the run';
