-- level: error
-- on: procedure_run
-- describes: A value of a series does not say its place.
-- example: <value incrementValue="">1.5</value>.
SELECT c.position, c.record, v.ordinal, v.line,
    format('a value of the series %s has an empty incrementValue: give its place in the series', left(x.parameter_id, 200)) AS message
  FROM candidate c
  JOIN warehouse.claimed_measurement x ON x.position = c.position AND x.record = c.record
  JOIN warehouse.claimed_series_value v ON v.position = c.position AND v.record = c.record AND v.parent = x.ordinal
  WHERE x.kind = 'series' AND btrim(v.increment, E' \t\r\n') = ''
