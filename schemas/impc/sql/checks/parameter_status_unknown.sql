-- level: error
-- on: procedure_run
-- needs: status_code
-- describes: A parameterStatus or incrementStatus is not a code that parameters can have.
-- example: <parameterStatus>IMPC_PARAMSC_999</parameterStatus>.
SELECT c.position, c.record, x.ordinal, x.line,
    format('the status "%s" of the parameter %s is not known for parameters: correct it', left(x.status, 200), left(x.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT u.ordinal, u.line, u.parameter_id, u.status
      FROM warehouse.parameter_use u WHERE u.position = c.position AND u.record = c.record AND btrim(u.status, E' \t\r\n') <> ''
    UNION ALL
    SELECT v.ordinal, v.line, v.parameter_id, v.increment_status
      FROM warehouse.measured_series v WHERE v.position = c.position AND v.record = c.record AND btrim(v.increment_status, E' \t\r\n') <> ''
    OFFSET 0) x
  WHERE NOT EXISTS (
      SELECT FROM warehouse.reference_status_code k WHERE k.code = btrim(split_part(x.status, ':', 1), E' \t\r\n') AND coalesce(k.scope, '') IN ('', 'parameter') OFFSET 0)
