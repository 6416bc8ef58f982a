-- level: error
-- on: procedure_run
-- describes: A parameter of several files has neither files nor a status that says why.
-- example: <seriesMediaParameter parameterID="IMPC_XRY_034_001"/>.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the parameter %s has neither files nor a parameterStatus: add some', left(x.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_media_parameter x WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  WHERE coalesce(btrim(x.status, E' \t\r\n'), '') = ''
    AND NOT EXISTS (SELECT FROM warehouse.claimed_media_sample s WHERE s.position = c.position AND s.record = c.record AND s.parent = x.ordinal OFFSET 0)
    AND NOT EXISTS (SELECT FROM warehouse.claimed_media m WHERE m.position = c.position AND m.record = c.record AND m.parent = x.ordinal OFFSET 0)
