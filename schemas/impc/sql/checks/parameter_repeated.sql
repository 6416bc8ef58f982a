-- level: error
-- on: procedure_run
-- describes: A run has a parameter twice with the same sequenceID, or twice without one.
-- example: two simpleParameter with parameterID="IMPC_BWT_001_001" and no sequenceID.
SELECT x.position, x.record, x.ordinal, x.line,
    format('the parameter %s is there again%s: give each repeat a sequenceID of its own, or remove it', left(x.parameter_id, 200),
      coalesce(' with sequenceID ' || x.sequence_id, ' without sequenceID')) AS message
  FROM (
    SELECT m.position, m.record, m.ordinal, m.line, m.parameter_id, m.sequence_id,
        row_number() OVER (PARTITION BY m.position, m.record, m.parameter_id, coalesce(m.sequence_id, -1) ORDER BY m.ordinal) AS place
      FROM candidate_measurement m) x
  WHERE x.place > 1
