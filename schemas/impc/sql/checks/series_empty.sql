-- level: error
-- on: procedure_run
-- describes: A series has neither values nor a status that says why.
-- example: <seriesParameter parameterID="IMPC_CAL_003_001"/>.
SELECT m.position, m.record, m.ordinal, m.line,
    format('the series %s has neither values nor a parameterStatus: add some', left(m.parameter_id, 200)) AS message
  FROM candidate_measurement m
  WHERE m.kind = 'series' AND coalesce(btrim(m.status, E' \t\r\n'), '') = ''
    AND NOT EXISTS (SELECT FROM warehouse.claimed_series_value v WHERE v.position = m.position AND v.record = m.record AND v.parent = m.ordinal OFFSET 0)
