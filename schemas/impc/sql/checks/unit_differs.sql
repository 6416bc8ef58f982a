-- level: warn
-- on: procedure_run
-- needs: parameter
-- describes: The unit of a value is another than the one that its parameter is defined with.
-- example: unit="kg" for a parameter with the unit g.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the unit "%s" of the parameter %s is not %s: correct it, and the value if it is in that unit', left(x.unit, 200), left(x.parameter_id, 200), left(p.unit, 200)) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  JOIN warehouse.claimed_measurement x ON x.position = c.position AND x.record = c.record
  JOIN warehouse.reference_parameter p ON p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = c.position AND t.record = c.record)
    AND p.unit <> '' AND btrim(x.unit, E' \t\r\n') <> '' AND btrim(x.unit, E' \t\r\n') <> btrim(p.unit)
