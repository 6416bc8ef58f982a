-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A value is not one of the options of its parameter.
-- example: <value>Maybe</value> for a parameter with the options yes|no.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the value "%s" of the parameter %s is not one of its options: use one of %s', left(x.value, 200), left(x.parameter_id, 200), left(p.options, 300)) AS message
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
  WHERE coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND btrim(x.value, E' \t\r\n') <> '' AND p.options <> ''
    AND NOT EXISTS (SELECT FROM unnest(string_to_array(p.options, '|')) o WHERE btrim(o) = btrim(x.value, E' \t\r\n'))
