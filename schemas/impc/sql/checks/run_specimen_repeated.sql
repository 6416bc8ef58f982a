-- level: warn
-- on: procedure_run
-- describes: An experiment names a specimen twice.
-- example: <specimenID>77</specimenID> twice in one experiment.
SELECT x.position, x.record, x.ordinal, x.line,
    format('specimen %s is named again: name it once', left(x.specimen_id, 200)) AS message
  FROM (
    SELECT c.position, c.record, x.ordinal, x.line, x.specimen_id,
        row_number() OVER (PARTITION BY c.position, c.record, x.specimen_id ORDER BY x.ordinal) AS place
      FROM candidate c JOIN warehouse.claimed_run_specimen x ON x.position = c.position AND x.record = c.record) x
  WHERE x.place > 1
