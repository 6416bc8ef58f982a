-- level: error
-- on: procedure_run
-- describes: A file is associated with a parameter that is no simple or ontology parameter of the same run.
-- example: parameterAssociation parameterID="IMPC_XRY_004_001" in a run without that parameter.
SELECT x.position, x.record, x.ordinal, x.line,
    format('the file is associated with the parameter %s%s, which is no simple or ontology parameter of this run: correct it, or add the parameter',
      left(x.parameter_id, 200), coalesce(' of sequenceID ' || x.sequence_id, '')) AS message
  FROM candidate_parameter_association x
  WHERE NOT EXISTS (
    SELECT FROM warehouse.claimed_measurement m
      WHERE m.position = x.position AND m.record = x.record AND m.kind IN ('simple', 'ontology')
        AND m.parameter_id = x.parameter_id AND (x.sequence_id IS NULL OR m.sequence_id = x.sequence_id) OFFSET 0)
