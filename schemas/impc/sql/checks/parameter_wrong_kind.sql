-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A parameter is carried by another element than the one of its kind.
-- example: a simpleParameter for IMPC_CAL_003_001, which is a series.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the parameter %s is carried by a %s, but must be by a %s: use that element', left(x.parameter_id, 200), x.element, left(p.kind, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT x.ordinal, x.line, x.element, x.parameter_id, x.status FROM warehouse.parameter_use x
      WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  WHERE p.kind <> '' AND p.kind <> x.element
