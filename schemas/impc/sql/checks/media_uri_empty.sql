-- level: error
-- on: procedure_run
-- describes: A file has no URI, and no status says why.
-- example: <mediaParameter parameterID="IMPC_EYE_050_001" URI="" …/>.
SELECT x.position, x.record, x.ordinal, x.line,
    format('a file of the parameter %s has an empty URI: say where the file is, or give a parameterStatus', left(x.parameter_id, 200)) AS message
  FROM candidate_media x
  WHERE btrim(x.uri, E' \t\r\n') = '' AND coalesce(btrim(x.status, E' \t\r\n'), '') = ''
