-- level: error
-- on: procedure_run
-- describes: A place in a series has a value, and a status that says why it has none.
-- example: <value incrementValue="3" incrementStatus="IMPC_PARAMSC_001">1.5</value>.
SELECT c.position, c.record, v.ordinal, v.line,
    format('the increment "%s" of the series %s has both a value and an incrementStatus: keep one', left(v.increment, 200), left(v.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.measured_series v
      WHERE v.position = c.position AND v.record = c.record AND btrim(v.value, E' \t\r\n') <> '' AND coalesce(btrim(v.increment_status, E' \t\r\n'), '') <> '' OFFSET 0) v
