-- level: error
-- on: procedure_run
-- describes: A place in a series has neither a value nor a status that says why.
-- example: <value incrementValue="3"/>.
SELECT c.position, c.record, v.ordinal, v.line,
    format('the increment "%s" of the series %s has neither a value nor an incrementStatus: add one', left(v.increment, 200), left(v.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.measured_series v
      WHERE v.position = c.position AND v.record = c.record AND btrim(v.value, E' \t\r\n') = '' OFFSET 0) v
  WHERE coalesce(btrim(v.status, E' \t\r\n'), '') = '' AND coalesce(btrim(v.increment_status, E' \t\r\n'), '') = ''
