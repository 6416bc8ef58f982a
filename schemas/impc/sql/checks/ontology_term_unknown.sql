-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A term does not begin with one of the identifiers that its parameter is defined with.
-- example: <term>MP:0000000</term> for a parameter with the options MP:0001289|MP:0001293.
SELECT c.position, c.record, t.ordinal, t.line,
    format('the term "%s" is not one of those of the parameter %s: use one of %s', left(t.term, 200), left(t.parameter_id, 200), left(p.options, 300)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.measured_term t WHERE t.position = c.position AND t.record = c.record OFFSET 0) t
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.reference_parameter p
      WHERE p.parameter_id = t.parameter_id AND p.procedure_id = r.procedure_id AND p.pipeline_id = r.pipeline OFFSET 0) p
  WHERE coalesce(btrim(t.status, E' \t\r\n'), '') = '' AND btrim(t.term, E' \t\r\n') <> '' AND p.options <> ''
    AND NOT EXISTS (
      SELECT FROM unnest(string_to_array(p.options, '|')) o WHERE btrim(o) <> '' AND starts_with(btrim(t.term, E' \t\r\n'), btrim(o)))
