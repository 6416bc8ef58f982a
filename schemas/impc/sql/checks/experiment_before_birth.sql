-- level: error
-- on: procedure_run
-- describes: An experiment was done before one of its mice was born.
-- example: dateOfExperiment="2012-11-06" on a mouse with DOB="2013-01-31".
SELECT r.position, r.record, x.ordinal, x.line,
    format('the experiment was done on %s, before specimen %s was born on %s: correct dateOfExperiment, or DOB',
      to_char(r.date_of_experiment, 'YYYY-MM-DD'), left(x.specimen_id, 200), to_char(s.dob, 'YYYY-MM-DD')) AS message
  FROM candidate_procedure_run r
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_run_specimen x WHERE x.position = r.position AND x.record = r.record OFFSET 0) x
  CROSS JOIN LATERAL (
    SELECT s.dob FROM warehouse.claimed_specimen s
      WHERE s.specimen_id = x.specimen_id AND s.claim_centre = x.claim_centre AND s.is_current OFFSET 0) s
  WHERE r.date_of_experiment < s.dob
-- again
SELECT x.position, x.record
  FROM warehouse.changed c
  CROSS JOIN LATERAL (
    SELECT s.specimen_id FROM warehouse.claimed_specimen s WHERE s.position = c.position AND s.record = c.ordinal OFFSET 0) s
  CROSS JOIN LATERAL (
    SELECT x.position, x.record FROM warehouse.claimed_run_specimen x
      WHERE x.specimen_id = s.specimen_id AND x.claim_centre = c.centre AND x.is_current OFFSET 0) x
  WHERE c.centre = $1 AND c.record_type = 'specimen'
