-- level: error
-- on: procedure_run
-- describes: An experiment was done, or a housing changed, after the date of the file that submits it.
-- example: dateOfExperiment="2031-05-02" in a file of 2013-06-19.
SELECT r.position, r.record, r.ordinal, r.line,
    format('%s is of %s, after the file''s date %s: correct %s', coalesce(r.kind || ' ' || left(r.experiment_id, 200), r.kind || ' ' || left(r.colony_id, 200), r.kind),
      to_char(coalesce(r.date_of_experiment, r.last_updated), 'YYYY-MM-DD'), d.file_date,
      CASE r.kind WHEN 'housing' THEN 'lastUpdated' ELSE 'dateOfExperiment' END) AS message
  FROM candidate_procedure_run r
  CROSS JOIN LATERAL (SELECT d.file_date FROM warehouse.document d WHERE d.position = r.position OFFSET 0) d
  WHERE to_char(coalesce(r.date_of_experiment, r.last_updated), 'YYYY-MM-DD') > d.file_date
