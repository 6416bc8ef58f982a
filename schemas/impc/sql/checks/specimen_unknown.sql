-- level: error
-- on: procedure_run
-- describes: An experiment names a specimen that its centre has not submitted, or has deleted.
-- example: experiment E1 names specimen 77, which is in no specimen document of the centre.
SELECT x.position, x.record, x.ordinal, x.line,
    format('specimen %s of centre %s is not known: submit it, or correct the experiment', left(x.specimen_id, 200), x.claim_centre) AS message
  FROM candidate_run_specimen x
  WHERE NOT EXISTS (
    SELECT FROM warehouse.claimed_specimen s WHERE s.specimen_id = x.specimen_id AND s.claim_centre = x.claim_centre AND s.is_current OFFSET 0)
-- again
SELECT x.position, x.record
  FROM warehouse.changed c
  CROSS JOIN LATERAL (
    SELECT s.specimen_id FROM warehouse.claimed_specimen s WHERE s.position = c.position AND s.record = c.ordinal OFFSET 0) s
  CROSS JOIN LATERAL (
    SELECT x.position, x.record FROM warehouse.claimed_run_specimen x
      WHERE x.specimen_id = s.specimen_id AND x.claim_centre = c.centre AND x.is_current OFFSET 0) x
  WHERE c.centre = $1 AND c.record_type = 'specimen'
