-- level: error
-- on: procedure_run
-- describes: A parameterID is empty, or has blanks around it, so that it is not the parameter it is meant to be.
-- example: parameterID="IMPC_BWT_001_001 ".
SELECT c.position, c.record, x.ordinal, x.line,
    format('the parameterID "%s" is empty or has blanks around it: write it without', left(x.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT x.ordinal, x.line, x.element, x.parameter_id, x.status FROM warehouse.parameter_use x
      WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  WHERE x.parameter_id = '' OR x.parameter_id <> btrim(x.parameter_id, E' \t\r\n')
