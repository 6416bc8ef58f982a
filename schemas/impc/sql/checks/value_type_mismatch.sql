-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A value is not of the type that its parameter is defined with.
-- example: <value>heavy</value> for a parameter of type FLOAT.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the value "%s" of the parameter %s is no %s: correct it, or give a status', left(x.value, 200), left(x.parameter_id, 200), upper(left(p.value_type, 200))) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT m.ordinal, m.line, m.parameter_id, m.value, m.status
      FROM warehouse.claimed_measurement m
      WHERE m.position = c.position AND m.record = c.record AND m.kind IN ('simple', 'metadata')
    UNION ALL
    SELECT v.ordinal, v.line, v.parameter_id, v.value, v.status
      FROM warehouse.measured_series v WHERE v.position = c.position AND v.record = c.record
    OFFSET 0) x
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  WHERE coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND btrim(x.value, E' \t\r\n') <> ''
    AND NOT CASE upper(p.value_type)
      WHEN 'BOOL' THEN btrim(x.value, E' \t\r\n') ~* '^(true|false|1|0)$'
      WHEN 'INT' THEN btrim(x.value, E' \t\r\n') ~* '^[+-]?[0-9]+$'
      WHEN 'FLOAT' THEN btrim(x.value, E' \t\r\n') ~* '^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?$'
      WHEN 'DATE' THEN btrim(x.value, E' \t\r\n') ~* '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$'
      WHEN 'TIME' THEN btrim(x.value, E' \t\r\n') ~* '^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(z|[+-][0-9]{2}:?[0-9]{2})?$'
      WHEN 'DATETIME' THEN btrim(x.value, E' \t\r\n') ~* '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[t ]([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(z|[+-][0-9]{2}:?[0-9]{2})?$'
      ELSE true END
