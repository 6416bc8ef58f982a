-- Views of what holds now, for analysts and for the statements of context and
-- overview. Content is stored once, however often it was submitted: the claims
-- on it point to it. The views with many rows join the claim once with the
-- content that it points to, instead of one view claimed_… for each table.

CREATE OR REPLACE VIEW warehouse.current_specimen AS
  SELECT s.claim_centre AS centre, s.specimen_id, s.kind, s.colony_id, s.strain_id, s.is_baseline, s.gender, s.zygosity, s.litter_id,
    s.pipeline, s.project, s.phenotyping_centre, s.production_centre, s.dob, s.stage, s.stage_unit, s.status_code, s.status_date,
    EXISTS (SELECT FROM warehouse.finding f WHERE f.position = s.position AND f.record = s.record AND f.open) AS has_findings,
    s.position, s.record AS ordinal
  FROM warehouse.claimed_specimen s WHERE s.is_current;
COMMENT ON VIEW warehouse.current_specimen IS 'the specimens that are known now';
COMMENT ON COLUMN warehouse.current_specimen.centre IS 'short name of the centre that submitted it';
COMMENT ON COLUMN warehouse.current_specimen.specimen_id IS 'the centre''s name of it, unique within the centre';
COMMENT ON COLUMN warehouse.current_specimen.kind IS 'mouse or embryo';
COMMENT ON COLUMN warehouse.current_specimen.colony_id IS 'the colony of a mutant';
COMMENT ON COLUMN warehouse.current_specimen.strain_id IS 'the strain of a baseline animal, often an MGI accession';
COMMENT ON COLUMN warehouse.current_specimen.is_baseline IS 'whether it belongs to the baseline strain, with which mutants are compared';
COMMENT ON COLUMN warehouse.current_specimen.gender IS 'female, male, intersex or no data';
COMMENT ON COLUMN warehouse.current_specimen.zygosity IS 'in how many copies it carries the allele of its line: homozygous, heterozygous, hemizygous or wild type';
COMMENT ON COLUMN warehouse.current_specimen.litter_id IS 'the centre''s name of its litter';
COMMENT ON COLUMN warehouse.current_specimen.pipeline IS 'the pipeline of procedures that it goes through';
COMMENT ON COLUMN warehouse.current_specimen.project IS 'the project that it belongs to';
COMMENT ON COLUMN warehouse.current_specimen.phenotyping_centre IS 'short name of the centre that measures it';
COMMENT ON COLUMN warehouse.current_specimen.production_centre IS 'short name of the centre that made its line';
COMMENT ON COLUMN warehouse.current_specimen.dob IS 'date of birth of a mouse';
COMMENT ON COLUMN warehouse.current_specimen.stage IS 'stage at which an embryo was taken, such as 12.5, E12.5 or TS20';
COMMENT ON COLUMN warehouse.current_specimen.stage_unit IS 'what the stage counts: DPC (days after copulation) or Theiler';
COMMENT ON COLUMN warehouse.current_specimen.status_code IS 'code that says why there is no, or not the usual, result; text may follow the code';
COMMENT ON COLUMN warehouse.current_specimen.status_date IS 'since when the status code holds';
COMMENT ON COLUMN warehouse.current_specimen.has_findings IS 'whether findings about it are open';
COMMENT ON COLUMN warehouse.current_specimen.position IS 'the document';
COMMENT ON COLUMN warehouse.current_specimen.ordinal IS 'the specimen''s place among all rows of the document';

CREATE OR REPLACE VIEW warehouse.current_procedure_run AS
  SELECT r.claim_centre AS centre, r.kind, r.pipeline, r.project, r.experiment_id, r.procedure_id, r.sequence_id, r.colony_id,
    r.date_of_experiment, r.from_lims, r.last_updated, r.specimen_ids,
    EXISTS (SELECT FROM warehouse.finding f WHERE f.position = r.position AND f.record = r.record AND f.open) AS has_findings,
    r.position, r.record AS ordinal
  FROM warehouse.claimed_procedure_run r WHERE r.is_current;
COMMENT ON VIEW warehouse.current_procedure_run IS 'the experiments, lines and housings that hold now';
COMMENT ON COLUMN warehouse.current_procedure_run.centre IS 'short name of the centre that submitted it';
COMMENT ON COLUMN warehouse.current_procedure_run.kind IS 'experiment, line or housing';
COMMENT ON COLUMN warehouse.current_procedure_run.pipeline IS 'the pipeline that the procedure belongs to';
COMMENT ON COLUMN warehouse.current_procedure_run.project IS 'the project that it was done for';
COMMENT ON COLUMN warehouse.current_procedure_run.experiment_id IS 'the centre''s name of an experiment';
COMMENT ON COLUMN warehouse.current_procedure_run.procedure_id IS 'the procedure; null if the experiment has none, and a status code stands instead';
COMMENT ON COLUMN warehouse.current_procedure_run.sequence_id IS 'tells repeats of an experiment or a line apart';
COMMENT ON COLUMN warehouse.current_procedure_run.colony_id IS 'the colony of a line';
COMMENT ON COLUMN warehouse.current_procedure_run.date_of_experiment IS 'the day of an experiment';
COMMENT ON COLUMN warehouse.current_procedure_run.from_lims IS 'whether a housing comes from the centre''s laboratory information system';
COMMENT ON COLUMN warehouse.current_procedure_run.last_updated IS 'the day when a housing was last changed';
COMMENT ON COLUMN warehouse.current_procedure_run.specimen_ids IS 'the specimens of an experiment in the document''s order: part of the natural key';
COMMENT ON COLUMN warehouse.current_procedure_run.has_findings IS 'whether findings about it or its values are open';
COMMENT ON COLUMN warehouse.current_procedure_run.position IS 'the document';
COMMENT ON COLUMN warehouse.current_procedure_run.ordinal IS 'the run''s place among all rows of the document';

CREATE OR REPLACE VIEW warehouse.current_measurement AS
  SELECT c.centre, r.kind AS run_kind, r.pipeline, r.project, r.experiment_id, r.procedure_id, r.sequence_id AS run_sequence_id,
    r.colony_id, r.specimen_ids, r.date_of_experiment, r.from_lims, r.last_updated,
    m.kind, m.parameter_id, m.sequence_id, NULL::text AS increment, NULL::text AS increment_status, m.unit, m.value, m.status,
    c.position, c.ordinal AS run_ordinal, m.ordinal + c.ordinal - c.content_ordinal AS ordinal
  FROM warehouse.claim c
  JOIN warehouse.procedure_run r ON r.position = c.content_position AND r.ordinal = c.content_ordinal
  JOIN warehouse.measurement m ON m.position = c.content_position AND m.record = c.content_ordinal
  WHERE c.record_type = 'procedure_run' AND c.is_current AND m.kind IN ('simple', 'metadata')
  UNION ALL
  SELECT c.centre, r.kind, r.pipeline, r.project, r.experiment_id, r.procedure_id, r.sequence_id,
    r.colony_id, r.specimen_ids, r.date_of_experiment, r.from_lims, r.last_updated,
    m.kind, m.parameter_id, m.sequence_id, NULL, NULL, m.unit, t.term, m.status,
    c.position, c.ordinal, coalesce(t.ordinal, m.ordinal) + c.ordinal - c.content_ordinal
  FROM warehouse.claim c
  JOIN warehouse.procedure_run r ON r.position = c.content_position AND r.ordinal = c.content_ordinal
  JOIN warehouse.measurement m ON m.position = c.content_position AND m.record = c.content_ordinal
  LEFT JOIN warehouse.ontology_term t ON t.position = m.position AND t.record = m.record AND t.parent = m.ordinal
  WHERE c.record_type = 'procedure_run' AND c.is_current AND m.kind = 'ontology'
  UNION ALL
  SELECT c.centre, r.kind, r.pipeline, r.project, r.experiment_id, r.procedure_id, r.sequence_id,
    r.colony_id, r.specimen_ids, r.date_of_experiment, r.from_lims, r.last_updated,
    m.kind, m.parameter_id, m.sequence_id, v.increment, v.increment_status, m.unit, v.value, m.status,
    c.position, c.ordinal, coalesce(v.ordinal, m.ordinal) + c.ordinal - c.content_ordinal
  FROM warehouse.claim c
  JOIN warehouse.procedure_run r ON r.position = c.content_position AND r.ordinal = c.content_ordinal
  JOIN warehouse.measurement m ON m.position = c.content_position AND m.record = c.content_ordinal
  LEFT JOIN warehouse.series_value v ON v.position = m.position AND v.record = m.record AND v.parent = m.ordinal
  WHERE c.record_type = 'procedure_run' AND c.is_current AND m.kind = 'series';
COMMENT ON VIEW warehouse.current_measurement IS 'the values that hold now, one row a value (each term of an ontology parameter, each value of a series), with what identifies the run; a parameter without value has one row without. Name the procedure besides the parameter to be fast';
COMMENT ON COLUMN warehouse.current_measurement.centre IS 'short name of the centre that submitted it';
COMMENT ON COLUMN warehouse.current_measurement.run_kind IS 'experiment, line or housing';
COMMENT ON COLUMN warehouse.current_measurement.pipeline IS 'the pipeline that the procedure belongs to';
COMMENT ON COLUMN warehouse.current_measurement.project IS 'the project that it was done for';
COMMENT ON COLUMN warehouse.current_measurement.experiment_id IS 'the centre''s name of the experiment';
COMMENT ON COLUMN warehouse.current_measurement.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.current_measurement.run_sequence_id IS 'tells repeats of an experiment or a line apart';
COMMENT ON COLUMN warehouse.current_measurement.colony_id IS 'the colony of a line';
COMMENT ON COLUMN warehouse.current_measurement.specimen_ids IS 'the specimens of the experiment in the document''s order';
COMMENT ON COLUMN warehouse.current_measurement.date_of_experiment IS 'the day of the experiment';
COMMENT ON COLUMN warehouse.current_measurement.from_lims IS 'of a housing: whether it comes from the centre''s laboratory information system';
COMMENT ON COLUMN warehouse.current_measurement.last_updated IS 'the day when a housing was last changed';
COMMENT ON COLUMN warehouse.current_measurement.kind IS 'simple, ontology, series or metadata';
COMMENT ON COLUMN warehouse.current_measurement.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.current_measurement.sequence_id IS 'tells repeats of the parameter within the run apart';
COMMENT ON COLUMN warehouse.current_measurement.increment IS 'place of the value in its series; null outside of series';
COMMENT ON COLUMN warehouse.current_measurement.increment_status IS 'why this place of a series has no, or not the usual, value';
COMMENT ON COLUMN warehouse.current_measurement.unit IS 'unit of the value';
COMMENT ON COLUMN warehouse.current_measurement.value IS 'value or term as the document says it; null if there is none';
COMMENT ON COLUMN warehouse.current_measurement.status IS 'why the parameter has no, or not the usual, result';
COMMENT ON COLUMN warehouse.current_measurement.position IS 'the document';
COMMENT ON COLUMN warehouse.current_measurement.run_ordinal IS 'the run in the document';
COMMENT ON COLUMN warehouse.current_measurement.ordinal IS 'the row''s place among all rows of the document';

CREATE OR REPLACE VIEW warehouse.specimen_measurement AS
  SELECT m.centre, m.specimen_id, m.specimen_kind, m.colony_id, m.strain_id, m.is_baseline, m.gender AS sex, m.zygosity, m.dob, m.stage, m.stage_unit,
    m.pipeline, m.project, m.procedure_id, m.experiment_id, m.run_sequence_id, m.date_of_experiment, m.date_of_experiment - m.dob AS age_in_days,
    m.kind, m.parameter_id, m.sequence_id, m.increment, m.increment_status, m.unit, m.value,
    CASE WHEN btrim(m.value, E' \t\r\n') ~ '^[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})?$'
      THEN btrim(m.value, E' \t\r\n')::double precision END AS value_number,
    m.status, m.position, m.run_ordinal, m.ordinal, m.run_claim
  FROM (
    SELECT k.centre AS centre, s.specimen_id, s.kind AS specimen_kind, s.colony_id, s.strain_id, s.is_baseline, s.gender, s.zygosity, s.dob, s.stage, s.stage_unit,
      r.pipeline, r.project, r.procedure_id, r.experiment_id, r.sequence_id AS run_sequence_id, r.date_of_experiment,
      m.kind, m.parameter_id, m.sequence_id, NULL::text AS increment, NULL::text AS increment_status, m.unit, m.value AS value, m.status,
      c.position, c.ordinal AS run_ordinal, m.ordinal + c.ordinal - c.content_ordinal AS ordinal, c.claim AS run_claim
    FROM warehouse.claim k
    JOIN warehouse.specimen s ON s.position = k.content_position AND s.ordinal = k.content_ordinal
    JOIN warehouse.run_specimen x ON x.specimen_id = s.specimen_id
    JOIN warehouse.claim c ON c.content_position = x.position AND c.content_ordinal = x.record AND c.centre = k.centre
    JOIN warehouse.procedure_run r ON r.position = x.position AND r.ordinal = x.record
    JOIN warehouse.measurement m ON m.position = x.position AND m.record = x.record
    WHERE k.record_type = 'specimen' AND k.is_current AND c.record_type = 'procedure_run' AND c.is_current AND m.kind IN ('simple', 'metadata')
    UNION ALL
    SELECT k.centre, s.specimen_id, s.kind, s.colony_id, s.strain_id, s.is_baseline, s.gender, s.zygosity, s.dob, s.stage, s.stage_unit,
      r.pipeline, r.project, r.procedure_id, r.experiment_id, r.sequence_id, r.date_of_experiment,
      m.kind, m.parameter_id, m.sequence_id, NULL, NULL, m.unit, t.term, m.status,
      c.position, c.ordinal, coalesce(t.ordinal, m.ordinal) + c.ordinal - c.content_ordinal, c.claim
    FROM warehouse.claim k
    JOIN warehouse.specimen s ON s.position = k.content_position AND s.ordinal = k.content_ordinal
    JOIN warehouse.run_specimen x ON x.specimen_id = s.specimen_id
    JOIN warehouse.claim c ON c.content_position = x.position AND c.content_ordinal = x.record AND c.centre = k.centre
    JOIN warehouse.procedure_run r ON r.position = x.position AND r.ordinal = x.record
    JOIN warehouse.measurement m ON m.position = x.position AND m.record = x.record
    LEFT JOIN warehouse.ontology_term t ON t.position = m.position AND t.record = m.record AND t.parent = m.ordinal
    WHERE k.record_type = 'specimen' AND k.is_current AND c.record_type = 'procedure_run' AND c.is_current AND m.kind = 'ontology'
    UNION ALL
    SELECT k.centre, s.specimen_id, s.kind, s.colony_id, s.strain_id, s.is_baseline, s.gender, s.zygosity, s.dob, s.stage, s.stage_unit,
      r.pipeline, r.project, r.procedure_id, r.experiment_id, r.sequence_id, r.date_of_experiment,
      m.kind, m.parameter_id, m.sequence_id, v.increment, v.increment_status, m.unit, v.value, m.status,
      c.position, c.ordinal, coalesce(v.ordinal, m.ordinal) + c.ordinal - c.content_ordinal, c.claim
    FROM warehouse.claim k
    JOIN warehouse.specimen s ON s.position = k.content_position AND s.ordinal = k.content_ordinal
    JOIN warehouse.run_specimen x ON x.specimen_id = s.specimen_id
    JOIN warehouse.claim c ON c.content_position = x.position AND c.content_ordinal = x.record AND c.centre = k.centre
    JOIN warehouse.procedure_run r ON r.position = x.position AND r.ordinal = x.record
    JOIN warehouse.measurement m ON m.position = x.position AND m.record = x.record
    LEFT JOIN warehouse.series_value v ON v.position = m.position AND v.record = m.record AND v.parent = m.ordinal
    WHERE k.record_type = 'specimen' AND k.is_current AND c.record_type = 'procedure_run' AND c.is_current AND m.kind = 'series'
  ) m;
COMMENT ON VIEW warehouse.specimen_measurement IS 'the specimens that are known now with the values that hold now, one row a value and specimen';
COMMENT ON COLUMN warehouse.specimen_measurement.centre IS 'short name of the centre that submitted it';
COMMENT ON COLUMN warehouse.specimen_measurement.specimen_id IS 'the centre''s name of the specimen';
COMMENT ON COLUMN warehouse.specimen_measurement.specimen_kind IS 'mouse or embryo';
COMMENT ON COLUMN warehouse.specimen_measurement.colony_id IS 'the colony of a mutant';
COMMENT ON COLUMN warehouse.specimen_measurement.strain_id IS 'the strain of a baseline animal';
COMMENT ON COLUMN warehouse.specimen_measurement.is_baseline IS 'whether it belongs to the baseline strain';
COMMENT ON COLUMN warehouse.specimen_measurement.sex IS 'female, male, intersex or no data';
COMMENT ON COLUMN warehouse.specimen_measurement.zygosity IS 'in how many copies it carries the allele of its line';
COMMENT ON COLUMN warehouse.specimen_measurement.dob IS 'date of birth of a mouse';
COMMENT ON COLUMN warehouse.specimen_measurement.stage IS 'stage at which an embryo was taken';
COMMENT ON COLUMN warehouse.specimen_measurement.stage_unit IS 'DPC (days after copulation) or Theiler';
COMMENT ON COLUMN warehouse.specimen_measurement.pipeline IS 'the pipeline that the procedure belongs to';
COMMENT ON COLUMN warehouse.specimen_measurement.project IS 'the project that it was done for';
COMMENT ON COLUMN warehouse.specimen_measurement.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.specimen_measurement.experiment_id IS 'the centre''s name of the experiment';
COMMENT ON COLUMN warehouse.specimen_measurement.run_sequence_id IS 'tells repeats of an experiment or a line apart';
COMMENT ON COLUMN warehouse.specimen_measurement.date_of_experiment IS 'the day of the experiment';
COMMENT ON COLUMN warehouse.specimen_measurement.age_in_days IS 'age of a mouse on the day of the experiment';
COMMENT ON COLUMN warehouse.specimen_measurement.kind IS 'simple, ontology, series or metadata';
COMMENT ON COLUMN warehouse.specimen_measurement.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.specimen_measurement.sequence_id IS 'tells repeats of the parameter within the run apart';
COMMENT ON COLUMN warehouse.specimen_measurement.increment IS 'place of the value in its series; null outside of series';
COMMENT ON COLUMN warehouse.specimen_measurement.increment_status IS 'why this place of a series has no, or not the usual, value';
COMMENT ON COLUMN warehouse.specimen_measurement.unit IS 'unit of the value';
COMMENT ON COLUMN warehouse.specimen_measurement.value IS 'value or term as the document says it; null if there is none';
COMMENT ON COLUMN warehouse.specimen_measurement.value_number IS 'the value as a number, where it is one of usual size';
COMMENT ON COLUMN warehouse.specimen_measurement.status IS 'why the parameter has no, or not the usual, result';
COMMENT ON COLUMN warehouse.specimen_measurement.position IS 'the document';
COMMENT ON COLUMN warehouse.specimen_measurement.run_ordinal IS 'the run in the document';
COMMENT ON COLUMN warehouse.specimen_measurement.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.specimen_measurement.run_claim IS 'identity of the run''s natural key';

CREATE OR REPLACE VIEW warehouse.latest_measurement AS
  SELECT l.centre, l.specimen_id, l.specimen_kind, l.colony_id, l.strain_id, l.is_baseline, l.sex, l.zygosity, l.dob, l.stage, l.stage_unit,
    l.pipeline, l.project, l.procedure_id, l.experiment_id, l.run_sequence_id, l.date_of_experiment, l.age_in_days,
    l.kind, l.parameter_id, l.sequence_id, l.increment, l.increment_status, l.unit, l.value, l.value_number, l.status,
    l.position, l.run_ordinal, l.ordinal
  FROM (
    SELECT m.*, rank() OVER (PARTITION BY m.centre, m.specimen_id, m.parameter_id, m.sequence_id, m.increment
      ORDER BY m.date_of_experiment DESC NULLS LAST, m.run_claim) AS place
    FROM warehouse.specimen_measurement m) l
  WHERE l.place = 1;
COMMENT ON VIEW warehouse.latest_measurement IS 'of specimen_measurement, for each specimen, parameter, sequence and increment what the latest experiment says: one row, or one for each term of an ontology parameter';
COMMENT ON COLUMN warehouse.latest_measurement.centre IS 'short name of the centre that submitted it';
COMMENT ON COLUMN warehouse.latest_measurement.specimen_id IS 'the centre''s name of the specimen';
COMMENT ON COLUMN warehouse.latest_measurement.specimen_kind IS 'mouse or embryo';
COMMENT ON COLUMN warehouse.latest_measurement.colony_id IS 'the colony of a mutant';
COMMENT ON COLUMN warehouse.latest_measurement.strain_id IS 'the strain of a baseline animal';
COMMENT ON COLUMN warehouse.latest_measurement.is_baseline IS 'whether it belongs to the baseline strain';
COMMENT ON COLUMN warehouse.latest_measurement.sex IS 'female, male, intersex or no data';
COMMENT ON COLUMN warehouse.latest_measurement.zygosity IS 'in how many copies it carries the allele of its line';
COMMENT ON COLUMN warehouse.latest_measurement.dob IS 'date of birth of a mouse';
COMMENT ON COLUMN warehouse.latest_measurement.stage IS 'stage at which an embryo was taken';
COMMENT ON COLUMN warehouse.latest_measurement.stage_unit IS 'DPC (days after copulation) or Theiler';
COMMENT ON COLUMN warehouse.latest_measurement.pipeline IS 'the pipeline that the procedure belongs to';
COMMENT ON COLUMN warehouse.latest_measurement.project IS 'the project that it was done for';
COMMENT ON COLUMN warehouse.latest_measurement.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.latest_measurement.experiment_id IS 'the centre''s name of the experiment';
COMMENT ON COLUMN warehouse.latest_measurement.run_sequence_id IS 'tells repeats of an experiment or a line apart';
COMMENT ON COLUMN warehouse.latest_measurement.date_of_experiment IS 'the day of the experiment';
COMMENT ON COLUMN warehouse.latest_measurement.age_in_days IS 'age of a mouse on the day of the experiment';
COMMENT ON COLUMN warehouse.latest_measurement.kind IS 'simple, ontology, series or metadata';
COMMENT ON COLUMN warehouse.latest_measurement.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.latest_measurement.sequence_id IS 'tells repeats of the parameter within the run apart';
COMMENT ON COLUMN warehouse.latest_measurement.increment IS 'place of the value in its series; null outside of series';
COMMENT ON COLUMN warehouse.latest_measurement.increment_status IS 'why this place of a series has no, or not the usual, value';
COMMENT ON COLUMN warehouse.latest_measurement.unit IS 'unit of the value';
COMMENT ON COLUMN warehouse.latest_measurement.value IS 'value or term as the document says it; null if there is none';
COMMENT ON COLUMN warehouse.latest_measurement.value_number IS 'the value as a number, where it is one of usual size';
COMMENT ON COLUMN warehouse.latest_measurement.status IS 'why the parameter has no, or not the usual, result';
COMMENT ON COLUMN warehouse.latest_measurement.position IS 'the document';
COMMENT ON COLUMN warehouse.latest_measurement.run_ordinal IS 'the run in the document';
COMMENT ON COLUMN warehouse.latest_measurement.ordinal IS 'the row''s place among all rows of the document';

CREATE OR REPLACE VIEW warehouse.current_media AS
  SELECT r.claim_centre AS centre, r.kind AS run_kind, r.pipeline, r.project, r.procedure_id, r.experiment_id, r.sequence_id AS run_sequence_id,
    r.colony_id, r.specimen_ids, r.date_of_experiment,
    m.kind, m.parameter_id, a.local_id AS sample_id, e.local_id AS section_id, m.local_id AS file_id, m.increment,
    m.uri, m.file_type, m.link, coalesce(m.status, p.status) AS status,
    (SELECT array_agg(x.parameter_id ORDER BY x.ordinal) FROM warehouse.claimed_parameter_association x
      WHERE x.position = m.position AND x.record = m.record AND x.parent = m.ordinal) AS shows,
    m.position, m.record AS run_ordinal, m.ordinal
  FROM warehouse.claimed_media m
  JOIN warehouse.claimed_procedure_run r ON r.position = m.position AND r.record = m.record
  LEFT JOIN warehouse.claimed_media_section e ON e.position = m.position AND e.record = m.record AND e.ordinal = m.parent
  LEFT JOIN warehouse.claimed_media_sample a ON a.position = m.position AND a.record = m.record AND a.ordinal = e.parent
  LEFT JOIN warehouse.claimed_media_parameter p ON p.position = m.position AND p.record = m.record AND p.ordinal = coalesce(a.parent, m.parent)
  WHERE m.is_current;
COMMENT ON VIEW warehouse.current_media IS 'the files of the runs that hold now, one row a file, with what they belong to';
COMMENT ON COLUMN warehouse.current_media.centre IS 'short name of the centre that submitted it';
COMMENT ON COLUMN warehouse.current_media.run_kind IS 'experiment, line or housing';
COMMENT ON COLUMN warehouse.current_media.pipeline IS 'the pipeline that the procedure belongs to';
COMMENT ON COLUMN warehouse.current_media.project IS 'the project that it was done for';
COMMENT ON COLUMN warehouse.current_media.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.current_media.experiment_id IS 'the centre''s name of the experiment';
COMMENT ON COLUMN warehouse.current_media.run_sequence_id IS 'tells repeats of an experiment or a line apart';
COMMENT ON COLUMN warehouse.current_media.colony_id IS 'the colony of a line';
COMMENT ON COLUMN warehouse.current_media.specimen_ids IS 'the specimens of the experiment in the document''s order';
COMMENT ON COLUMN warehouse.current_media.date_of_experiment IS 'the day of the experiment';
COMMENT ON COLUMN warehouse.current_media.kind IS 'single (the parameter has one file), sample (a file of a sample''s section) or series';
COMMENT ON COLUMN warehouse.current_media.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.current_media.sample_id IS 'the centre''s name of the sample';
COMMENT ON COLUMN warehouse.current_media.section_id IS 'the centre''s name of the section';
COMMENT ON COLUMN warehouse.current_media.file_id IS 'the centre''s name of a file of a section';
COMMENT ON COLUMN warehouse.current_media.increment IS 'place of the file in its series';
COMMENT ON COLUMN warehouse.current_media.uri IS 'where the file is';
COMMENT ON COLUMN warehouse.current_media.file_type IS 'media type, such as image/jpeg';
COMMENT ON COLUMN warehouse.current_media.link IS 'a page or place that shows the file';
COMMENT ON COLUMN warehouse.current_media.status IS 'why the parameter has no, or not the usual, result';
COMMENT ON COLUMN warehouse.current_media.shows IS 'the parameters of the run that the file is associated with';
COMMENT ON COLUMN warehouse.current_media.position IS 'the document';
COMMENT ON COLUMN warehouse.current_media.run_ordinal IS 'the run in the document';
COMMENT ON COLUMN warehouse.current_media.ordinal IS 'the row''s place among all rows of the document';

CREATE OR REPLACE VIEW warehouse.claim_history AS
  SELECT c.record_type, c.centre, c.natural_key, c.subject,
    CASE WHEN d.withdrawn THEN 'withdrawn' WHEN c.is_current THEN 'current' WHEN c.tombstone THEN 'tombstone' ELSE 'superseded' END AS state,
    row_number() OVER (PARTITION BY c.claim ORDER BY d.withdrawn, d.version_key DESC, c.position DESC) AS place,
    d.action, d.file_name, d.entry, d.file_date, c.line,
    EXISTS (SELECT FROM warehouse.claim o WHERE o.position = c.content_position AND o.ordinal = c.content_ordinal
      AND (o.position, o.ordinal) <> (c.position, c.ordinal)) AS repeats_content,
    c.claim, c.fingerprint, c.position, c.ordinal
  FROM warehouse.claim c JOIN warehouse.document d ON d.position = c.position;
COMMENT ON VIEW warehouse.claim_history IS 'all that documents have claimed on each key: what holds, what it superseded, deletions, and what was withdrawn';
COMMENT ON COLUMN warehouse.claim_history.record_type IS 'specimen or procedure_run';
COMMENT ON COLUMN warehouse.claim_history.centre IS 'the centre that claims it';
COMMENT ON COLUMN warehouse.claim_history.natural_key IS 'the key, as in the document';
COMMENT ON COLUMN warehouse.claim_history.subject IS 'the procedure; empty if there is none';
COMMENT ON COLUMN warehouse.claim_history.state IS 'current, superseded, tombstone (the key was deleted) or withdrawn (a newer version of the file, or an unload, took it back)';
COMMENT ON COLUMN warehouse.claim_history.place IS '1 for the claim that decides, then those below it';
COMMENT ON COLUMN warehouse.claim_history.action IS 'add, edit or delete';
COMMENT ON COLUMN warehouse.claim_history.file_name IS 'the zip';
COMMENT ON COLUMN warehouse.claim_history.entry IS 'the document in it';
COMMENT ON COLUMN warehouse.claim_history.file_date IS 'date in the file''s name';
COMMENT ON COLUMN warehouse.claim_history.line IS 'line of the record''s element';
COMMENT ON COLUMN warehouse.claim_history.repeats_content IS 'whether another document had brought the same content before';
COMMENT ON COLUMN warehouse.claim_history.claim IS 'identity of the key';
COMMENT ON COLUMN warehouse.claim_history.fingerprint IS 'digest of the content: equal for equal content';
COMMENT ON COLUMN warehouse.claim_history.position IS 'the document';
COMMENT ON COLUMN warehouse.claim_history.ordinal IS 'the record''s place among all rows of the document';

CREATE OR REPLACE VIEW warehouse.open_finding AS
  SELECT f.centre, f.level, f.test, f.message, d.action, d.file_name, d.entry, f.line, f.col,
    f.record_type, f.subject, c.natural_key, f.position, f.record, f.ordinal
  FROM warehouse.finding f
  JOIN warehouse.document d ON d.position = f.position
  LEFT JOIN warehouse.claim c ON c.position = f.position AND c.ordinal = f.record
  WHERE f.open;
COMMENT ON VIEW warehouse.open_finding IS 'the findings that hold now, with file, document and line';
COMMENT ON COLUMN warehouse.open_finding.centre IS 'the centre';
COMMENT ON COLUMN warehouse.open_finding.level IS 'info, warn or error; an error makes the document (data, failed)';
COMMENT ON COLUMN warehouse.open_finding.test IS 'stable name of the check';
COMMENT ON COLUMN warehouse.open_finding.message IS 'what is wrong, and what to do';
COMMENT ON COLUMN warehouse.open_finding.action IS 'add, edit or delete';
COMMENT ON COLUMN warehouse.open_finding.file_name IS 'the zip';
COMMENT ON COLUMN warehouse.open_finding.entry IS 'the document in it';
COMMENT ON COLUMN warehouse.open_finding.line IS 'line in the document';
COMMENT ON COLUMN warehouse.open_finding.col IS 'column in the line; 0 if not known';
COMMENT ON COLUMN warehouse.open_finding.record_type IS 'specimen or procedure_run';
COMMENT ON COLUMN warehouse.open_finding.subject IS 'the procedure; empty if there is none';
COMMENT ON COLUMN warehouse.open_finding.natural_key IS 'the key of the specimen or run concerned';
COMMENT ON COLUMN warehouse.open_finding.position IS 'the document';
COMMENT ON COLUMN warehouse.open_finding.record IS 'the specimen or run in the document';
COMMENT ON COLUMN warehouse.open_finding.ordinal IS 'the row concerned among all rows of the document';

CREATE OR REPLACE VIEW warehouse.run_dimension AS
  SELECT d.position, d.record, d.centre, d.procedure_id, d.pipeline, d.project, d.strain_id, d.colony_id, d.zygosity, d.sex, d.day,
    encode(substring(sha256(convert_to(concat_ws(chr(31), d.centre, d.procedure_id, d.pipeline, d.project, d.strain_id, d.colony_id, d.zygosity, d.sex), 'UTF8')) FOR 16), 'hex')::uuid AS group_id,
    d.content_position, d.content_ordinal
  FROM (
    SELECT c.position, c.ordinal AS record, c.centre, r.procedure_id, coalesce(r.pipeline, '') AS pipeline, coalesce(r.project, '') AS project,
      coalesce(s.strain_id, '') AS strain_id, coalesce(s.colony_id, r.colony_id, '') AS colony_id, coalesce(s.zygosity, '') AS zygosity, coalesce(s.gender, '') AS sex,
      coalesce(r.date_of_experiment, r.last_updated) AS day, c.content_position, c.content_ordinal
    FROM warehouse.claim c
    JOIN warehouse.procedure_run r ON r.position = c.content_position AND r.ordinal = c.content_ordinal
    LEFT JOIN LATERAL (
      SELECT s.strain_id, s.colony_id, s.zygosity, s.gender
      FROM warehouse.run_specimen x JOIN warehouse.claimed_specimen s ON s.specimen_id = x.specimen_id
      WHERE x.position = c.content_position AND x.record = c.content_ordinal AND s.claim_centre = c.centre AND s.is_current OFFSET 0) s ON true
    WHERE c.record_type = 'procedure_run' AND c.is_current AND r.procedure_id IS NOT NULL) d;
COMMENT ON VIEW warehouse.run_dimension IS 'strain, colony, zygosity and sex of each current specimen of each current run with a procedure, or of none if there is none; a line has its colony, and what is not known is empty';
COMMENT ON COLUMN warehouse.run_dimension.position IS 'the document';
COMMENT ON COLUMN warehouse.run_dimension.record IS 'the run in the document';
COMMENT ON COLUMN warehouse.run_dimension.centre IS 'short name of the centre';
COMMENT ON COLUMN warehouse.run_dimension.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.run_dimension.pipeline IS 'the pipeline of the run';
COMMENT ON COLUMN warehouse.run_dimension.project IS 'the project of the run';
COMMENT ON COLUMN warehouse.run_dimension.strain_id IS 'strain of a specimen';
COMMENT ON COLUMN warehouse.run_dimension.colony_id IS 'colony of a specimen, or of the line';
COMMENT ON COLUMN warehouse.run_dimension.zygosity IS 'zygosity of a specimen';
COMMENT ON COLUMN warehouse.run_dimension.sex IS 'sex of a specimen';
COMMENT ON COLUMN warehouse.run_dimension.group_id IS 'digest of all dimensions but the day';
COMMENT ON COLUMN warehouse.run_dimension.day IS 'the day of the experiment, or of the housing''s last change';
COMMENT ON COLUMN warehouse.run_dimension.content_position IS 'the document that brought the run''s content';
COMMENT ON COLUMN warehouse.run_dimension.content_ordinal IS 'the run in that document';

CREATE OR REPLACE VIEW warehouse.context AS
  SELECT g.centre, g.pipeline, g.project, g.strain_id, g.colony_id, g.zygosity, g.sex, g.procedure_id, u.parameter_id,
    u.runs, u.measurements, u.first_date, u.last_date
  FROM warehouse.context_parameter x JOIN warehouse.context_group g ON g.id = x.group_id
  CROSS JOIN LATERAL unnest(x.parameter_ids, x.runs, x.measurements, x.first_dates, x.last_dates) u (parameter_id, runs, measurements, first_date, last_date);
COMMENT ON VIEW warehouse.context IS 'for what there are current values, kept up at each batch''s end. A run counts once for each distinct combination among its specimens; what is not known is empty';
COMMENT ON COLUMN warehouse.context.centre IS 'short name of the centre';
COMMENT ON COLUMN warehouse.context.pipeline IS 'the pipeline of the run';
COMMENT ON COLUMN warehouse.context.project IS 'the project of the run';
COMMENT ON COLUMN warehouse.context.strain_id IS 'strain of a specimen';
COMMENT ON COLUMN warehouse.context.colony_id IS 'colony of a specimen, or of the line';
COMMENT ON COLUMN warehouse.context.zygosity IS 'zygosity of a specimen';
COMMENT ON COLUMN warehouse.context.sex IS 'sex of a specimen';
COMMENT ON COLUMN warehouse.context.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.context.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.context.runs IS 'current runs';
COMMENT ON COLUMN warehouse.context.measurements IS 'current values in them';
COMMENT ON COLUMN warehouse.context.first_date IS 'first day of an experiment, or of a housing''s change; null if there is none';
COMMENT ON COLUMN warehouse.context.last_date IS 'last such day';

CREATE OR REPLACE VIEW warehouse.judged_run AS
  SELECT r.position, r.record, r.ordinal, r.line, r.kind, r.pipeline, r.procedure_id, r.is_current
  FROM warehouse.claimed_procedure_run r
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = r.position AND t.record = r.record);
COMMENT ON VIEW warehouse.judged_run IS 'the runs of every claim whose procedure is held against its definition: those without a status code';
COMMENT ON COLUMN warehouse.judged_run.position IS 'the document';
COMMENT ON COLUMN warehouse.judged_run.record IS 'the run in the document';
COMMENT ON COLUMN warehouse.judged_run.ordinal IS 'the same: the run''s place among all rows of the document';
COMMENT ON COLUMN warehouse.judged_run.line IS 'line of the element';
COMMENT ON COLUMN warehouse.judged_run.kind IS 'experiment, line or housing';
COMMENT ON COLUMN warehouse.judged_run.pipeline IS 'the pipeline that the procedure belongs to';
COMMENT ON COLUMN warehouse.judged_run.procedure_id IS 'the procedure';
COMMENT ON COLUMN warehouse.judged_run.is_current IS 'whether the run holds now';

CREATE OR REPLACE VIEW warehouse.measured_series AS
  SELECT c.position, c.ordinal AS record, v.ordinal + c.ordinal - c.content_ordinal AS ordinal, v.parent + c.ordinal - c.content_ordinal AS parent,
    v.line + c.line_shift AS line,
    m.parameter_id, m.sequence_id, m.unit, m.status, v.increment, v.increment_status, v.value, c.is_current
  FROM warehouse.claim c
  JOIN warehouse.series_value v ON v.position = c.content_position AND v.record = c.content_ordinal
  JOIN warehouse.measurement m ON m.position = v.position AND m.record = v.record AND m.ordinal = v.parent
  WHERE c.record_type = 'procedure_run';
COMMENT ON VIEW warehouse.measured_series IS 'the values of series of every claim, with their parameters';
COMMENT ON COLUMN warehouse.measured_series.position IS 'the document';
COMMENT ON COLUMN warehouse.measured_series.record IS 'the run in the document';
COMMENT ON COLUMN warehouse.measured_series.ordinal IS 'the value''s place among all rows of the document';
COMMENT ON COLUMN warehouse.measured_series.parent IS 'the series'' place among all rows of the document';
COMMENT ON COLUMN warehouse.measured_series.line IS 'line of the element';
COMMENT ON COLUMN warehouse.measured_series.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.measured_series.sequence_id IS 'tells repeats of the parameter within the run apart';
COMMENT ON COLUMN warehouse.measured_series.unit IS 'unit of all values of the series';
COMMENT ON COLUMN warehouse.measured_series.status IS 'why the parameter has no, or not the usual, result';
COMMENT ON COLUMN warehouse.measured_series.increment IS 'place of the value in its series';
COMMENT ON COLUMN warehouse.measured_series.increment_status IS 'why this place has no, or not the usual, value';
COMMENT ON COLUMN warehouse.measured_series.value IS 'as the document says it; empty if there is none';
COMMENT ON COLUMN warehouse.measured_series.is_current IS 'whether the run holds now';

CREATE OR REPLACE VIEW warehouse.measured_term AS
  SELECT c.position, c.ordinal AS record, t.ordinal + c.ordinal - c.content_ordinal AS ordinal, t.parent + c.ordinal - c.content_ordinal AS parent,
    t.line + c.line_shift AS line,
    m.parameter_id, m.sequence_id, m.status, t.term, c.is_current
  FROM warehouse.claim c
  JOIN warehouse.ontology_term t ON t.position = c.content_position AND t.record = c.content_ordinal
  JOIN warehouse.measurement m ON m.position = t.position AND m.record = t.record AND m.ordinal = t.parent
  WHERE c.record_type = 'procedure_run';
COMMENT ON VIEW warehouse.measured_term IS 'the terms of ontology parameters of every claim, with their parameters';
COMMENT ON COLUMN warehouse.measured_term.position IS 'the document';
COMMENT ON COLUMN warehouse.measured_term.record IS 'the run in the document';
COMMENT ON COLUMN warehouse.measured_term.ordinal IS 'the term''s place among all rows of the document';
COMMENT ON COLUMN warehouse.measured_term.parent IS 'the parameter''s place among all rows of the document';
COMMENT ON COLUMN warehouse.measured_term.line IS 'line of the element';
COMMENT ON COLUMN warehouse.measured_term.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.measured_term.sequence_id IS 'tells repeats of the parameter within the run apart';
COMMENT ON COLUMN warehouse.measured_term.status IS 'why the parameter has no, or not the usual, result';
COMMENT ON COLUMN warehouse.measured_term.term IS 'identifier of the term; its words may follow';
COMMENT ON COLUMN warehouse.measured_term.is_current IS 'whether the run holds now';

CREATE OR REPLACE VIEW warehouse.parameter_use AS
  SELECT m.position, m.record, m.ordinal, m.line,
    CASE m.kind WHEN 'metadata' THEN 'procedureMetadata' ELSE m.kind || 'Parameter' END AS element, m.parameter_id, m.sequence_id, m.status, m.is_current
  FROM warehouse.claimed_measurement m
  UNION ALL
  SELECT m.position, m.record, m.ordinal, m.line, 'mediaParameter', m.parameter_id, NULL, m.status, m.is_current
  FROM warehouse.claimed_media m WHERE m.kind = 'single'
  UNION ALL
  SELECT m.position, m.record, m.ordinal, m.line,
    CASE m.kind WHEN 'sample' THEN 'mediaSampleParameter' ELSE 'seriesMediaParameter' END, m.parameter_id, NULL, m.status, m.is_current
  FROM warehouse.claimed_media_parameter m
  UNION ALL
  SELECT m.position, m.record, m.ordinal, m.line, 'procedureMetadata', m.parameter_id, m.sequence_id, m.status, m.is_current
  FROM warehouse.claimed_media_metadata m;
COMMENT ON VIEW warehouse.parameter_use IS 'all elements that carry a parameter, whatever their kind, of every claim';
COMMENT ON COLUMN warehouse.parameter_use.position IS 'the document';
COMMENT ON COLUMN warehouse.parameter_use.record IS 'the run in the document';
COMMENT ON COLUMN warehouse.parameter_use.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.parameter_use.line IS 'line of the element';
COMMENT ON COLUMN warehouse.parameter_use.element IS 'name of the element';
COMMENT ON COLUMN warehouse.parameter_use.parameter_id IS 'the parameter';
COMMENT ON COLUMN warehouse.parameter_use.sequence_id IS 'tells repeats of the parameter apart';
COMMENT ON COLUMN warehouse.parameter_use.status IS 'why there is no, or not the usual, result';
COMMENT ON COLUMN warehouse.parameter_use.is_current IS 'whether the run holds now';

CREATE OR REPLACE VIEW warehouse.overview AS
  SELECT o.centre, o.procedure_id, sum(o.specimens)::bigint AS specimens, sum(o.experiments + o.lines + o.housings)::bigint AS runs,
    sum(o.experiments)::bigint AS experiments, sum(o.lines)::bigint AS lines, sum(o.housings)::bigint AS housings, sum(o.measurements)::bigint AS measurements,
    sum(o.findings_info)::bigint AS findings_info, sum(o.findings_warn)::bigint AS findings_warn, sum(o.findings_error)::bigint AS findings_error,
    sum(o.findings_info + o.findings_warn + o.findings_error)::bigint AS findings, max(o.file_date) AS last_change
  FROM (
    SELECT p.centre, p.procedure_id, p.specimens, p.experiments, p.lines, p.housings, p.measurements,
      0 AS findings_info, 0 AS findings_warn, 0 AS findings_error, p.file_date
    FROM warehouse.overview_part p
    UNION ALL
    SELECT f.centre, f.subject, 0, 0, 0, 0, 0, CASE f.level WHEN 'info' THEN f.findings ELSE 0 END,
      CASE f.level WHEN 'warn' THEN f.findings ELSE 0 END, CASE f.level WHEN 'error' THEN f.findings ELSE 0 END, NULL
    FROM warehouse.finding_count f WHERE f.findings > 0) o
  GROUP BY o.centre, o.procedure_id;
COMMENT ON VIEW warehouse.overview IS 'numbers of current rows and open findings per centre and procedure, kept up at each batch''s end';
COMMENT ON COLUMN warehouse.overview.centre IS 'short name of the centre';
COMMENT ON COLUMN warehouse.overview.procedure_id IS 'the procedure; empty for specimens, and for experiments without one';
COMMENT ON COLUMN warehouse.overview.specimens IS 'current specimens';
COMMENT ON COLUMN warehouse.overview.runs IS 'current runs of all kinds';
COMMENT ON COLUMN warehouse.overview.experiments IS 'current experiments';
COMMENT ON COLUMN warehouse.overview.lines IS 'current lines';
COMMENT ON COLUMN warehouse.overview.housings IS 'current housings';
COMMENT ON COLUMN warehouse.overview.measurements IS 'current values';
COMMENT ON COLUMN warehouse.overview.findings_info IS 'open findings that only inform';
COMMENT ON COLUMN warehouse.overview.findings_warn IS 'open warnings';
COMMENT ON COLUMN warehouse.overview.findings_error IS 'open errors';
COMMENT ON COLUMN warehouse.overview.findings IS 'open findings of all levels';
COMMENT ON COLUMN warehouse.overview.last_change IS 'YYYY-MM-DD: greatest date in the names of the files that current rows come from; null if there are none';
