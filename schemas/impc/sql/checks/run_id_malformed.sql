-- level: error
-- on: procedure_run
-- describes: An experimentID, colonyID or procedureID is empty, or has blanks around it.
-- example: procedureID="IMPC_BWT_001 ".
SELECT r.position, r.record, r.ordinal, r.line,
    format('%s is empty or has blanks around it: correct it',
      concat_ws(' and ',
        CASE WHEN r.experiment_id = '' OR r.experiment_id <> btrim(r.experiment_id, E' \t\r\n') THEN 'experimentID' END,
        CASE WHEN r.colony_id = '' OR r.colony_id <> btrim(r.colony_id, E' \t\r\n') THEN 'colonyID' END,
        CASE WHEN r.procedure_id = '' OR r.procedure_id <> btrim(r.procedure_id, E' \t\r\n') THEN 'procedureID' END)) AS message
  FROM candidate_procedure_run r
  WHERE r.experiment_id = '' OR r.experiment_id <> btrim(r.experiment_id, E' \t\r\n')
    OR r.colony_id = '' OR r.colony_id <> btrim(r.colony_id, E' \t\r\n')
    OR r.procedure_id = '' OR r.procedure_id <> btrim(r.procedure_id, E' \t\r\n')
