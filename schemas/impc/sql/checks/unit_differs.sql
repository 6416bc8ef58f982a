-- level: warn
-- on: procedure_run
-- needs: parameter
-- describes: The unit of a value is another than the one that its parameter is defined with.
-- example: unit="kg" for a parameter with the unit g.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the unit "%s" of the parameter %s is not %s: correct it, and the value if it is in that unit', left(x.unit, 200), left(x.parameter_id, 200), left(p.unit, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_measurement x WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  WHERE p.unit <> '' AND btrim(x.unit, E' \t\r\n') <> '' AND btrim(x.unit, E' \t\r\n') <> btrim(p.unit)
