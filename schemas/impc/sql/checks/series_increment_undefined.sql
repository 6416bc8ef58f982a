-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A value of a series stands at a place that its parameter is not defined with.
-- example: incrementValue="four" for a parameter with the increments one|two|three.
SELECT c.position, c.record, v.ordinal, v.line,
    format('the increment "%s" is not one of those of the series %s: use one of %s', left(v.increment, 200), left(x.parameter_id, 200), left(p.increments, 300)) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  JOIN warehouse.claimed_measurement x ON x.position = c.position AND x.record = c.record
  JOIN warehouse.claimed_series_value v ON v.position = c.position AND v.record = c.record AND v.parent = x.ordinal
  JOIN warehouse.reference_parameter p ON p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = c.position AND t.record = c.record)
    AND x.kind = 'series' AND p.increments <> '' AND btrim(v.increment, E' \t\r\n') <> ''
    AND NOT EXISTS (SELECT FROM unnest(string_to_array(p.increments, '|')) i WHERE btrim(i) = btrim(v.increment, E' \t\r\n'))
