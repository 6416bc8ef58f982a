-- level: warn
-- on: procedure_run
-- describes: A run is done for a project that is not in the list warehouse.known_project.
-- example: project="Eumodic" instead of project="EUCOMM-EUMODIC".
SELECT r.position, r.record, r.ordinal, r.line,
    format('%s is for the project "%s", which is not known: correct project of the centre element, or have it added to the list', coalesce(r.kind || ' ' || left(r.experiment_id, 200), r.kind || ' ' || left(r.colony_id, 200), r.kind), left(r.project, 200)) AS message
  FROM candidate_procedure_run r
  WHERE NOT EXISTS (SELECT FROM warehouse.known_project k WHERE k.name = coalesce(r.project, ''))
