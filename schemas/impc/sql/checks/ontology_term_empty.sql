-- level: error
-- on: procedure_run
-- describes: A term of an ontology parameter without status is empty.
-- example: <term></term>.
SELECT c.position, c.record, t.ordinal, t.line,
    format('a term of the parameter %s is empty: give the term, or a parameterStatus', left(t.parameter_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.measured_term t WHERE t.position = c.position AND t.record = c.record OFFSET 0) t
  WHERE btrim(t.term, E' \t\r\n') = '' AND coalesce(btrim(t.status, E' \t\r\n'), '') = ''
