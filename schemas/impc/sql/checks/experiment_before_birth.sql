-- level: error
-- on: procedure_run
-- describes: An experiment was done before one of its mice was born.
-- example: dateOfExperiment="2012-11-06" on a mouse with DOB="2013-01-31".
SELECT c.position, c.record, x.ordinal, x.line,
    format('the experiment was done on %s, before specimen %s was born on %s: correct dateOfExperiment, or DOB',
      to_char(r.date_of_experiment, 'YYYY-MM-DD'), left(x.specimen_id, 200), to_char(s.dob, 'YYYY-MM-DD')) AS message
  FROM candidate c
  JOIN warehouse.claimed_procedure_run r ON r.position = c.position AND r.record = c.record
  JOIN warehouse.claimed_run_specimen x ON x.position = c.position AND x.record = c.record
  JOIN warehouse.claimed_specimen s ON s.specimen_id = x.specimen_id AND s.claim_centre = x.claim_centre AND s.is_current
  WHERE r.date_of_experiment < s.dob
-- again
SELECT x.position, x.record
  FROM warehouse.changed c
  JOIN warehouse.claimed_specimen s ON s.position = c.position AND s.record = c.ordinal
  JOIN warehouse.claimed_run_specimen x ON x.specimen_id = s.specimen_id AND x.claim_centre = s.claim_centre AND x.is_current
  WHERE c.centre = $1 AND c.record_type = 'specimen'
