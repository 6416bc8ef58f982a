-- level: warn
-- on: procedure_run
-- describes: An experiment names a specimen twice.
-- example: <specimenID>77</specimenID> twice in one experiment.
SELECT x.position, x.record, x.ordinal, x.line,
    format('specimen %s is named again: name it once', left(x.specimen_id, 200)) AS message
  FROM (
    SELECT y.*, row_number() OVER (PARTITION BY y.position, y.record, y.specimen_id ORDER BY y.ordinal) AS place
      FROM candidate_run_specimen y) x
  WHERE x.place > 1
