-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A series has fewer values than its parameter is defined with.
-- example: 4 values for a parameter that needs 5.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the series %s has %s values, but must have at least %s: add the others, with an incrementStatus where there is no value', left(x.parameter_id, 200), n.n, p.min_increments) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  JOIN warehouse.claimed_measurement x ON x.position = c.position AND x.record = c.record
  JOIN warehouse.reference_parameter p ON p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline
  CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM warehouse.claimed_series_value v WHERE v.position = c.position AND v.record = c.record AND v.parent = x.ordinal) n
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = c.position AND t.record = c.record)
    AND x.kind = 'series' AND coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND n.n > 0 AND n.n < p.min_increments
