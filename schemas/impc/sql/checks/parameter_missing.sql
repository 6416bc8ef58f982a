-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A run lacks parameters that its procedure requires.
-- example: a run of IMPC_BWT_001 without IMPC_BWT_001_001.
SELECT c.position, c.record, r.ordinal, r.line,
    format('the procedure %s requires parameters that are missing: add %s, or a parameterStatus for each',
      left(r.procedure_id, 200), left(m.missing, 400)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT string_agg(n.parameter_id, ', ' ORDER BY n.parameter_id) AS missing
      FROM (
        SELECT p.parameter_id FROM warehouse.reference_parameter p
          WHERE p.pipeline_id = r.pipeline AND p.procedure_id = r.procedure_id AND p.required
        EXCEPT
        SELECT x.parameter_id FROM warehouse.parameter_use x WHERE x.position = c.position AND x.record = c.record) n) m
  WHERE m.missing IS NOT NULL
