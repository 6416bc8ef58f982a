-- level: error
-- on: procedure_run
-- describes: A series has two values at the same place.
-- example: two values with incrementValue="3" in one seriesParameter.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the increment "%s" is in the series %s again: give each value a place of its own', left(x.increment, 200),
      (SELECT left(v.parameter_id, 200) FROM warehouse.measured_series v
        WHERE v.position = c.position AND v.record = c.record AND v.ordinal = x.ordinal)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT v.ordinal, v.line, v.increment, row_number() OVER (PARTITION BY v.parent, btrim(v.increment, E' \t\r\n') ORDER BY v.ordinal) AS place
      FROM warehouse.claimed_series_value v WHERE v.position = c.position AND v.record = c.record OFFSET 0) x
  WHERE x.place > 1 AND btrim(x.increment, E' \t\r\n') <> ''
