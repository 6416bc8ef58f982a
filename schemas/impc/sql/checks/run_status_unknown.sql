-- level: error
-- on: procedure_run
-- needs: status_code
-- describes: The status code of a run is not one that procedures can have.
-- example: <statusCode>IMPC_PSC_999</statusCode>.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the status code "%s" is not known for procedures: correct it', left(x.status_code, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_run_status x WHERE x.position = c.position AND x.record = c.record OFFSET 0) x
  WHERE btrim(x.status_code, E' \t\r\n') <> '' AND NOT EXISTS (
      SELECT FROM warehouse.reference_status_code k WHERE k.code = btrim(split_part(x.status_code, ':', 1), E' \t\r\n') AND coalesce(k.scope, '') IN ('', 'procedure') OFFSET 0)
