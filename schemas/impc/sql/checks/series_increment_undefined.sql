-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A value of a series stands at a place that its parameter is not defined with.
-- example: incrementValue="four" for a parameter with the increments one|two|three.
SELECT c.position, c.record, v.ordinal, v.line,
    format('the increment "%s" is not one of those of the series %s: use one of %s', left(v.increment, 200), left(v.parameter_id, 200), left(p.increments, 300)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.measured_series v WHERE v.position = c.position AND v.record = c.record OFFSET 0) v
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = v.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  WHERE p.increments <> '' AND btrim(v.increment, E' \t\r\n') <> ''
    AND NOT EXISTS (SELECT FROM unnest(string_to_array(p.increments, '|')) i WHERE btrim(i) = btrim(v.increment, E' \t\r\n'))
