-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: The place of a value in a series is not of the type that its parameter is defined with.
-- example: incrementValue="noon" for a parameter whose increments are of type DATETIME.
SELECT c.position, c.record, v.ordinal, v.line,
    format('the increment "%s" of the series %s is no %s: correct incrementValue', left(v.increment, 200), left(v.parameter_id, 200), upper(left(p.increment_type, 200))) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.measured_series v WHERE v.position = c.position AND v.record = c.record OFFSET 0) v
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = v.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  WHERE btrim(v.increment, E' \t\r\n') <> ''
    AND NOT CASE upper(p.increment_type)
      WHEN 'INT' THEN btrim(v.increment, E' \t\r\n') ~* '^[+-]?[0-9]+$'
      WHEN 'REPEAT' THEN btrim(v.increment, E' \t\r\n') ~* '^0*[1-9][0-9]*$'
      WHEN 'FLOAT' THEN btrim(v.increment, E' \t\r\n') ~* '^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?$'
      WHEN 'DATETIME' THEN btrim(v.increment, E' \t\r\n') ~* '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[t ]([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(z|[+-][0-9]{2}:?[0-9]{2})?$'
      ELSE true END
