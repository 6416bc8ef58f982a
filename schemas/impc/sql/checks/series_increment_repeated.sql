-- level: error
-- on: procedure_run
-- describes: A series has two values at the same place.
-- example: two values with incrementValue="3" in one seriesParameter.
SELECT x.position, x.record, x.ordinal, x.line,
    format('the increment "%s" is in the series %s again: give each value a place of its own', left(x.increment, 200),
      (SELECT left(v.parameter_id, 200) FROM warehouse.measured_series v
        WHERE v.position = x.position AND v.record = x.record AND v.ordinal = x.ordinal)) AS message
  FROM (
    SELECT v.position, v.record, v.ordinal, v.line, v.increment,
        row_number() OVER (PARTITION BY v.position, v.record, v.parent, btrim(v.increment, E' \t\r\n') ORDER BY v.ordinal) AS place
      FROM candidate_series_value v) x
  WHERE x.place > 1 AND btrim(x.increment, E' \t\r\n') <> ''
