-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A value is not one of the options of its parameter.
-- example: <value>Maybe</value> for a parameter with the options yes|no.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the value "%s" of the parameter %s is not one of its options: use one of %s', left(x.value, 200), left(x.parameter_id, 200), left(p.options, 300)) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  CROSS JOIN LATERAL (
    SELECT m.ordinal, m.line, m.parameter_id, m.value, m.status
      FROM warehouse.claimed_measurement m
      WHERE m.position = c.position AND m.record = c.record AND m.kind IN ('simple', 'metadata')
    UNION ALL
    SELECT v.ordinal, v.line, m.parameter_id, v.value, m.status
      FROM warehouse.claimed_measurement m
      JOIN warehouse.claimed_series_value v ON v.position = m.position AND v.record = m.record AND v.parent = m.ordinal
      WHERE m.position = c.position AND m.record = c.record AND m.kind = 'series'
    OFFSET 0) x
  JOIN warehouse.reference_parameter p ON p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = c.position AND t.record = c.record)
    AND coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND btrim(x.value, E' \t\r\n') <> '' AND p.options <> ''
    AND NOT EXISTS (SELECT FROM unnest(string_to_array(p.options, '|')) o WHERE btrim(o) = btrim(x.value, E' \t\r\n'))
