-- level: error
-- on: procedure_run
-- needs: parameter
-- describes: A run names a pipeline that the reference table parameter does not have.
-- example: pipeline="IMPC_1" instead of pipeline="IMPC_001".
SELECT r.position, r.record, r.ordinal, r.line,
    format('%s is of the pipeline "%s", which is not known: correct pipeline of the centre element', coalesce(r.kind || ' ' || left(r.experiment_id, 200), r.kind || ' ' || left(r.colony_id, 200), r.kind), left(r.pipeline, 200)) AS message
  FROM candidate_procedure_run r
  WHERE NOT EXISTS (SELECT FROM warehouse.reference_parameter k WHERE k.pipeline_id = coalesce(r.pipeline, '') OFFSET 0)
