-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A term does not begin with one of the identifiers that its parameter is defined with.
-- example: <term>MP:0000000</term> for a parameter with the options MP:0001289|MP:0001293.
SELECT c.position, c.record, t.ordinal, t.line,
    format('the term "%s" is not one of those of the parameter %s: use one of %s', left(t.term, 200), left(x.parameter_id, 200), left(p.options, 300)) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  JOIN warehouse.claimed_measurement x ON x.position = c.position AND x.record = c.record
  JOIN warehouse.claimed_ontology_term t ON t.position = c.position AND t.record = c.record AND t.parent = x.ordinal
  JOIN warehouse.reference_parameter p ON p.parameter_id = x.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = c.position AND t.record = c.record)
    AND x.kind = 'ontology' AND coalesce(btrim(x.status, E' \t\r\n'), '') = '' AND btrim(t.term, E' \t\r\n') <> '' AND p.options <> ''
    AND NOT EXISTS (
      SELECT FROM unnest(string_to_array(p.options, '|')) o WHERE btrim(o) <> '' AND starts_with(btrim(t.term, E' \t\r\n'), btrim(o)))
