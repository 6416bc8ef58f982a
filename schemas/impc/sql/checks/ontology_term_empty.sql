-- level: error
-- on: procedure_run
-- describes: A term of an ontology parameter without status is empty.
-- example: <term></term>.
SELECT c.position, c.record, t.ordinal, t.line,
    format('a term of the parameter %s is empty: give the term, or a parameterStatus', left(x.parameter_id, 200)) AS message
  FROM candidate c
  JOIN warehouse.claimed_measurement x ON x.position = c.position AND x.record = c.record
  JOIN warehouse.claimed_ontology_term t ON t.position = c.position AND t.record = c.record AND t.parent = x.ordinal
  WHERE x.kind = 'ontology' AND btrim(t.term, E' \t\r\n') = '' AND coalesce(btrim(x.status, E' \t\r\n'), '') = ''
