-- level: error
-- on: procedure_run
-- describes: A place in a series has neither a value nor a status that says why.
-- example: <value incrementValue="3"/>.
SELECT c.position, c.record, v.ordinal, v.line,
    format('the increment "%s" of the series %s has neither a value nor an incrementStatus: add one', left(v.increment, 200), left(x.parameter_id, 200)) AS message
  FROM candidate c
  JOIN warehouse.claimed_measurement x ON x.position = c.position AND x.record = c.record
  JOIN warehouse.claimed_series_value v ON v.position = c.position AND v.record = c.record AND v.parent = x.ordinal
  WHERE x.kind = 'series' AND coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND btrim(v.value, E' \t\r\n') = '' AND coalesce(btrim(v.increment_status, E' \t\r\n'), '') = ''
