-- level: error
-- on: procedure_run
-- describes: A value of a series does not say its place.
-- example: <value incrementValue="">1.5</value>.
SELECT c.position, c.record, v.ordinal, v.line,
    format('a value of the series %s has an empty incrementValue: give its place in the series', left(v.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.measured_series v
      WHERE v.position = c.position AND v.record = c.record AND btrim(v.increment, E' \t\r\n') = '' OFFSET 0) v
