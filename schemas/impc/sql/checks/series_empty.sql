-- level: error
-- on: procedure_run
-- describes: A series has neither values nor a status that says why.
-- example: <seriesParameter parameterID="IMPC_CAL_003_001"/>.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the series %s has neither values nor a parameterStatus: add some', left(x.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT m.ordinal FROM warehouse.claimed_measurement m
      WHERE m.position = c.position AND m.record = c.record AND m.kind = 'series' AND coalesce(btrim(m.status, E' \t\r\n'), '') = ''
    EXCEPT
    SELECT v.parent FROM warehouse.claimed_series_value v WHERE v.position = c.position AND v.record = c.record) n
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_measurement x
      WHERE x.position = c.position AND x.record = c.record AND x.ordinal = n.ordinal OFFSET 0) x
