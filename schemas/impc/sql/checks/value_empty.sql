-- level: error
-- on: procedure_run
-- describes: A simple parameter or metadata has neither a value nor a status that says why.
-- example: <simpleParameter parameterID="IMPC_BWT_001_001"/>.
SELECT x.position, x.record, x.ordinal, x.line,
    format('the parameter %s has neither a value nor a parameterStatus: add one', left(x.parameter_id, 200)) AS message
  FROM candidate_measurement x
  WHERE x.kind IN ('simple', 'metadata') AND coalesce(btrim(x.value, E' \t\r\n'), '') = '' AND coalesce(btrim(x.status, E' \t\r\n'), '') = ''
