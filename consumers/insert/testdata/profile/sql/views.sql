CREATE OR REPLACE VIEW warehouse.current_specimen AS
  SELECT centre, specimen_id, litter_id, dob, position, record, line FROM warehouse.claimed_specimen WHERE is_current;
COMMENT ON VIEW warehouse.current_specimen IS 'specimens that are known now';
CREATE OR REPLACE VIEW warehouse.current_procedure_run AS
  SELECT centre, experiment_id, procedure_id, specimen_ids, date_of_experiment, position, record, line FROM warehouse.claimed_procedure_run WHERE is_current;
COMMENT ON VIEW warehouse.current_procedure_run IS 'experiments that hold now';
CREATE OR REPLACE VIEW warehouse.current_measurement AS
  SELECT r.centre, r.experiment_id, r.procedure_id, r.specimen_ids, r.date_of_experiment, m.parameter_id, m.value, m.position, m.record, m.ordinal, m.line
  FROM warehouse.claimed_procedure_run r JOIN warehouse.claimed_measurement m ON m.position = r.position AND m.record = r.record
  WHERE r.is_current;
COMMENT ON VIEW warehouse.current_measurement IS 'values of the experiments that hold now';
