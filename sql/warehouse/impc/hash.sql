SELECT centre, specimen_id, kind, colony_id, strain_id, is_baseline, gender, zygosity, litter_id, pipeline, project,
    phenotyping_centre, production_centre, dob, stage, stage_unit, status_code, status_date
  FROM warehouse.specimen WHERE is_current
  ORDER BY centre COLLATE "C", specimen_id COLLATE "C";
SELECT centre, kind, experiment_id, colony_id, sequence_id, pipeline, project, procedure_id, specimen_ids, date_of_experiment,
    from_lims, last_updated
  FROM warehouse.procedure_run WHERE is_current
  ORDER BY centre COLLATE "C", claim;
SELECT r.claim, c.specimen_id
  FROM warehouse.procedure_run r JOIN warehouse.run_specimen c ON c.position = r.position AND c.procedure_run = r.ordinal
  WHERE r.is_current ORDER BY r.centre COLLATE "C", r.claim, c.ordinal;
SELECT r.claim, c.status_code, c.status_date
  FROM warehouse.procedure_run r JOIN warehouse.run_status c ON c.position = r.position AND c.procedure_run = r.ordinal
  WHERE r.is_current ORDER BY r.centre COLLATE "C", r.claim, c.ordinal;
SELECT r.claim, c.kind, c.parameter_id, c.sequence_id, c.increment, c.increment_status, c.unit, c.value, c.status
  FROM warehouse.procedure_run r JOIN warehouse.measurement c ON c.position = r.position AND c.procedure_run = r.ordinal
  WHERE r.is_current ORDER BY r.centre COLLATE "C", r.claim, c.ordinal
