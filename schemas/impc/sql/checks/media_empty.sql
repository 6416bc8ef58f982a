-- level: error
-- on: procedure_run
-- describes: A parameter of several files has neither files nor a status that says why.
-- example: <seriesMediaParameter parameterID="IMPC_XRY_034_001"/>.
SELECT x.position, x.record, x.ordinal, x.line,
    format('the parameter %s has neither files nor a parameterStatus: add some', left(x.parameter_id, 200)) AS message
  FROM candidate_media_parameter x
  WHERE coalesce(btrim(x.status, E' \t\r\n'), '') = ''
    AND NOT EXISTS (SELECT FROM warehouse.claimed_media_sample s WHERE s.position = x.position AND s.record = x.record AND s.parent = x.ordinal OFFSET 0)
    AND NOT EXISTS (SELECT FROM warehouse.claimed_media m WHERE m.position = x.position AND m.record = x.record AND m.parent = x.ordinal OFFSET 0)
