-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A parameter is carried by another element than the one of its kind.
-- example: a simpleParameter for IMPC_CAL_003_001, which is a series.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the parameter %s is carried by a %s, but must be by a %s: use that element', left(x.parameter_id, 200), x.element, left(p.kind, 200)) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  CROSS JOIN LATERAL (
    SELECT x.ordinal, x.line, x.element, x.parameter_id, x.status FROM warehouse.parameter_use x
      WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  JOIN warehouse.reference_parameter p ON p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = c.position AND t.record = c.record)
    AND p.kind <> '' AND p.kind <> x.element
