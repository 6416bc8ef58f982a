-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A series lacks places that its parameter is defined with.
-- example: no incrementValue="three" for a parameter with the increments one|two|three.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the series %s lacks the increments %s: add them, with an incrementStatus where there is no value',
      left(x.parameter_id, 200), left(m.missing, 300)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT v.parent AS ordinal, array_agg(btrim(v.increment, E' \t\r\n')) AS increments FROM warehouse.claimed_series_value v
      WHERE v.position = c.position AND v.record = c.record GROUP BY v.parent) n
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_measurement x
      WHERE x.position = c.position AND x.record = c.record AND x.ordinal = n.ordinal OFFSET 0) x
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  CROSS JOIN LATERAL (
    SELECT string_agg(i.i, ', ' ORDER BY i.i) AS missing
      FROM (SELECT btrim(i) FROM unnest(string_to_array(p.increments, '|')) i EXCEPT SELECT unnest(n.increments)) i (i)
      WHERE i.i <> '') m
  WHERE coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND m.missing IS NOT NULL
