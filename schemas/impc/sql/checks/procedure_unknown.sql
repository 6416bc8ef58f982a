-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A procedure is not one of its pipeline.
-- example: procedureID="ESLIM_001_001" in pipeline IMPC_001.
SELECT c.position, c.record, r.ordinal, r.line,
    format('the procedure "%s" is not one of the pipeline %s: correct procedureID, or pipeline', left(r.procedure_id, 200), left(r.pipeline, 200)) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  WHERE r.procedure_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = c.position AND t.record = c.record)
    AND EXISTS (SELECT FROM warehouse.reference_parameter k WHERE k.pipeline_id = r.pipeline)
    AND NOT EXISTS (SELECT FROM warehouse.reference_parameter k WHERE k.pipeline_id = r.pipeline AND k.procedure_id = r.procedure_id)
