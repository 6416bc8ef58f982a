-- level: warn
-- on: procedure_run
-- describes: An experiment was done, or a housing changed, before 1990, long before any data of this format.
-- example: dateOfExperiment="0013-06-19" instead of dateOfExperiment="2013-06-19".
SELECT r.position, r.record, r.ordinal, r.line,
    format('%s is of %s, before 1990: check %s', coalesce(r.kind || ' ' || left(r.experiment_id, 200), r.kind || ' ' || left(r.colony_id, 200), r.kind),
      to_char(coalesce(r.date_of_experiment, r.last_updated), 'YYYY-MM-DD'),
      CASE r.kind WHEN 'housing' THEN 'lastUpdated' ELSE 'dateOfExperiment' END) AS message
  FROM candidate_procedure_run r
  WHERE coalesce(r.date_of_experiment, r.last_updated) < DATE '1990-01-01'
