-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A parameter is defined, but not for the procedure of its run.
-- example: parameterID="IMPC_BWT_001_001" in a run of IMPC_CAL_001.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the parameter %s is not one of the procedure %s in the pipeline %s: correct parameterID, or procedureID', left(x.parameter_id, 200), left(r.procedure_id, 200), left(r.pipeline, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT x.ordinal, x.line, x.element, x.parameter_id, x.status FROM warehouse.parameter_use x
      WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  WHERE CASE WHEN EXISTS (
      SELECT FROM warehouse.reference_parameter k
        WHERE k.parameter_id = x.parameter_id AND k.procedure_id = r.procedure_id AND k.pipeline_id = r.pipeline OFFSET 0) THEN false
    WHEN NOT EXISTS (SELECT FROM warehouse.reference_parameter k WHERE k.pipeline_id = r.pipeline AND k.procedure_id = r.procedure_id OFFSET 0) THEN false
    ELSE x.parameter_id IN (SELECT k.parameter_id FROM warehouse.reference_parameter k) END
