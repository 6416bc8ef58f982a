-- level: error
-- on: procedure_run
-- needs: status_code
-- describes: The status code of a run is not one that procedures can have.
-- example: <statusCode>IMPC_PSC_999</statusCode>.
SELECT x.position, x.record, x.ordinal, x.line,
    format('the status code "%s" is not known for procedures: correct it', left(x.status_code, 200)) AS message
  FROM candidate_run_status x
  WHERE btrim(x.status_code, E' \t\r\n') <> '' AND NOT EXISTS (
      SELECT FROM warehouse.reference_status_code k WHERE k.code = btrim(split_part(x.status_code, ':', 1), E' \t\r\n') AND coalesce(k.scope, '') IN ('', 'procedure') OFFSET 0)
