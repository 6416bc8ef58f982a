-- level: error
-- on: procedure_run
-- describes: A term of an ontology parameter without status is empty.
-- example: <term></term>.
SELECT t.position, t.record, t.ordinal, t.line,
    format('a term of the parameter %s is empty: give the term, or a parameterStatus', left(m.parameter_id, 200)) AS message
  FROM candidate_ontology_term t
  CROSS JOIN LATERAL (
    SELECT m.parameter_id, m.status FROM warehouse.measured_term m
      WHERE m.position = t.position AND m.record = t.record AND m.ordinal = t.ordinal OFFSET 0) m
  WHERE btrim(t.term, E' \t\r\n') = '' AND coalesce(btrim(m.status, E' \t\r\n'), '') = ''
