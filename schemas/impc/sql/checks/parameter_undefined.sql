-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A parameter is not defined for any procedure.
-- example: parameterID="IMPC_BWT_999_001".
SELECT c.position, c.record, x.ordinal, x.line,
    format('the parameter "%s" is not defined: correct parameterID', left(x.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT x.ordinal, x.line, x.element, x.parameter_id, x.status FROM warehouse.parameter_use x
      WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  WHERE CASE WHEN EXISTS (
      SELECT FROM warehouse.reference_parameter k
        WHERE k.parameter_id = x.parameter_id AND k.procedure_id = r.procedure_id AND k.pipeline_id = r.pipeline OFFSET 0) THEN false
    ELSE x.parameter_id NOT IN (SELECT k.parameter_id FROM warehouse.reference_parameter k) END
