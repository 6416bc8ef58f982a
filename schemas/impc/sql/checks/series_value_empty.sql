-- level: error
-- on: procedure_run
-- describes: A place in a series has neither a value nor a status that says why.
-- example: <value incrementValue="3"/>.
SELECT v.position, v.record, v.ordinal, v.line,
    format('the increment "%s" of the series %s has neither a value nor an incrementStatus: add one', left(v.increment, 200), left(s.parameter_id, 200)) AS message
  FROM candidate_series_value v
  CROSS JOIN LATERAL (
    SELECT s.parameter_id, s.status FROM warehouse.measured_series s
      WHERE s.position = v.position AND s.record = v.record AND s.ordinal = v.ordinal OFFSET 0) s
  WHERE btrim(v.value, E' \t\r\n') = '' AND coalesce(btrim(v.increment_status, E' \t\r\n'), '') = '' AND coalesce(btrim(s.status, E' \t\r\n'), '') = ''
