-- level: error
-- on: procedure_run
-- describes: A value of a series does not say its place.
-- example: <value incrementValue="">1.5</value>.
SELECT v.position, v.record, v.ordinal, v.line,
    format('a value of the series %s has an empty incrementValue: give its place in the series', left(s.parameter_id, 200)) AS message
  FROM candidate_series_value v
  CROSS JOIN LATERAL (
    SELECT s.parameter_id, s.status FROM warehouse.measured_series s
      WHERE s.position = v.position AND s.record = v.record AND s.ordinal = v.ordinal OFFSET 0) s
  WHERE btrim(v.increment, E' \t\r\n') = ''
