-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A series lacks places that its parameter is defined with.
-- example: no incrementValue="three" for a parameter with the increments one|two|three.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the series %s lacks the increments %s: add them, with an incrementStatus where there is no value', left(x.parameter_id, 200),
      left(string_agg(btrim(i.i), ', ' ORDER BY i.place), 300)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_measurement x WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  CROSS JOIN LATERAL unnest(string_to_array(p.increments, '|')) WITH ORDINALITY i (i, place)
  WHERE x.kind = 'series' AND coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND btrim(i.i) <> ''
    AND EXISTS (SELECT FROM warehouse.claimed_series_value v WHERE v.position = c.position AND v.record = c.record AND v.parent = x.ordinal OFFSET 0)
    AND NOT EXISTS (
      SELECT FROM warehouse.claimed_series_value v
        WHERE v.position = c.position AND v.record = c.record AND v.parent = x.ordinal AND btrim(v.increment, E' \t\r\n') = btrim(i.i) OFFSET 0)
  GROUP BY c.position, c.record, x.ordinal, x.line, x.parameter_id
