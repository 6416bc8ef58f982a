-- level: error
-- on: procedure_run
-- describes: A place in a series has a value, and a status that says why it has none.
-- example: <value incrementValue="3" incrementStatus="IMPC_PARAMSC_001">1.5</value>.
SELECT v.position, v.record, v.ordinal, v.line,
    format('the increment "%s" of the series %s has both a value and an incrementStatus: keep one', left(v.increment, 200), left(s.parameter_id, 200)) AS message
  FROM candidate_series_value v
  CROSS JOIN LATERAL (
    SELECT s.parameter_id, s.status FROM warehouse.measured_series s
      WHERE s.position = v.position AND s.record = v.record AND s.ordinal = v.ordinal OFFSET 0) s
  WHERE btrim(v.value, E' \t\r\n') <> '' AND coalesce(btrim(v.increment_status, E' \t\r\n'), '') <> ''
