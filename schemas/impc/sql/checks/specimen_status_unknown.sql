-- level: error
-- on: specimen
-- needs: status_code
-- describes: The status code of a specimen is not one that specimens can have.
-- example: <statusCode>IMPC_SSC_999</statusCode>.
SELECT s.position, s.record, s.ordinal, s.line,
    format('the status code "%s" of specimen %s is not known for specimens: correct it', left(s.status_code, 200), left(s.specimen_id, 200)) AS message
  FROM candidate_specimen s
  WHERE btrim(s.status_code, E' \t\r\n') <> '' AND NOT EXISTS (
      SELECT FROM warehouse.reference_status_code k WHERE k.code = btrim(split_part(s.status_code, ':', 1), E' \t\r\n') AND coalesce(k.scope, '') IN ('', 'specimen') OFFSET 0)
