-- level: error
-- on: procedure_run
-- describes: A series has two values at the same place.
-- example: two values with incrementValue="3" in one seriesParameter.
SELECT x.position, x.record, x.ordinal, x.line,
    format('the increment "%s" is in the series %s again: give each value a place of its own', left(x.increment, 200), left(x.parameter_id, 200)) AS message
  FROM (
    SELECT c.position, c.record, v.ordinal, v.line, m.parameter_id, v.increment,
        row_number() OVER (PARTITION BY c.position, c.record, v.parent, btrim(v.increment, E' \t\r\n') ORDER BY v.ordinal) AS place
      FROM candidate c
      JOIN warehouse.claimed_series_value v ON v.position = c.position AND v.record = c.record
      JOIN warehouse.claimed_measurement m ON m.position = c.position AND m.record = c.record AND m.ordinal = v.parent) x
  WHERE x.place > 1 AND btrim(x.increment, E' \t\r\n') <> ''
