-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A run lacks parameters that its procedure requires.
-- example: a run of IMPC_BWT_001 without IMPC_BWT_001_001.
SELECT c.position, c.record, r.ordinal, r.line,
    format('the procedure %s requires parameters that are missing: add %s, or a parameterStatus for each',
      left(r.procedure_id, 200), left(string_agg(p.parameter_id, ', ' ORDER BY p.parameter_id), 400)) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  JOIN warehouse.reference_parameter p ON p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline AND p.required
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = c.position AND t.record = c.record)
    AND NOT EXISTS (
      SELECT FROM warehouse.parameter_use x WHERE x.position = c.position AND x.record = c.record AND x.parameter_id = p.parameter_id)
  GROUP BY c.position, c.record, r.ordinal, r.line, r.procedure_id
