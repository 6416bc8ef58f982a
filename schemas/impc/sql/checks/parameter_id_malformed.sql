-- level: error
-- on: procedure_run
-- describes: A parameterID is empty, or has blanks around it, so that it is not the parameter it is meant to be.
-- example: parameterID="IMPC_BWT_001_001 ".
SELECT x.position, x.record, x.ordinal, x.line,
    format('the parameterID "%s" is empty or has blanks around it: write it without', left(x.parameter_id, 200)) AS message
  FROM (
    SELECT m.position, m.record, m.ordinal, m.line, m.parameter_id FROM candidate_measurement m
    UNION ALL SELECT m.position, m.record, m.ordinal, m.line, m.parameter_id FROM candidate_media m
    UNION ALL SELECT m.position, m.record, m.ordinal, m.line, m.parameter_id FROM candidate_media_parameter m
    UNION ALL SELECT m.position, m.record, m.ordinal, m.line, m.parameter_id FROM candidate_media_metadata m) x
  WHERE x.parameter_id = '' OR x.parameter_id <> btrim(x.parameter_id, E' \t\r\n')
