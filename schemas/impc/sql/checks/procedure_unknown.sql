-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A procedure is not one of its pipeline.
-- example: procedureID="ESLIM_001_001" in pipeline IMPC_001.
SELECT c.position, c.record, r.ordinal, r.line,
    format('the procedure "%s" is not one of the pipeline %s: correct procedureID, or pipeline', left(r.procedure_id, 200), left(r.pipeline, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.judged_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  WHERE EXISTS (SELECT FROM warehouse.reference_parameter k WHERE k.pipeline_id = r.pipeline OFFSET 0)
    AND NOT EXISTS (SELECT FROM warehouse.reference_parameter k WHERE k.pipeline_id = r.pipeline AND k.procedure_id = r.procedure_id OFFSET 0)
