-- level: error
-- on: procedure_run
-- describes: An experiment has neither a procedure nor a status code that says why.
-- example: <experiment …><specimenID>77</specimenID></experiment>.
SELECT r.position, r.record, r.ordinal, r.line,
    format('experiment %s has neither a procedure nor a status code: add one', left(r.experiment_id, 200)) AS message
  FROM candidate_procedure_run r
  WHERE r.kind = 'experiment' AND r.procedure_id IS NULL
    AND NOT EXISTS (SELECT FROM warehouse.claimed_run_status t WHERE t.position = r.position AND t.record = r.record OFFSET 0)
