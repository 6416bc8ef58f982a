-- level: warn
-- on: procedure_run
-- describes: An experiment names a specimen twice.
-- example: <specimenID>77</specimenID> twice in one experiment.
SELECT c.position, c.record, x.ordinal, x.line,
    format('specimen %s is named again: name it once', left(x.specimen_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT y.ordinal, y.line, y.specimen_id, row_number() OVER (PARTITION BY y.specimen_id ORDER BY y.ordinal) AS place
      FROM warehouse.claimed_run_specimen y WHERE y.position = c.position AND y.record = c.record OFFSET 0) x
  WHERE x.place > 1
