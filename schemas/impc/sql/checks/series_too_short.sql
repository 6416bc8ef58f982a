-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A series has fewer values than its parameter is defined with.
-- example: 4 values for a parameter that needs 5.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the series %s has %s values, but must have at least %s: add the others, with an incrementStatus where there is no value',
      left(x.parameter_id, 200), n.n, p.min_increments) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT v.parent AS ordinal, count(*) AS n FROM warehouse.claimed_series_value v
      WHERE v.position = c.position AND v.record = c.record GROUP BY v.parent) n
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_measurement x
      WHERE x.position = c.position AND x.record = c.record AND x.ordinal = n.ordinal OFFSET 0) x
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  WHERE coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND n.n < p.min_increments
