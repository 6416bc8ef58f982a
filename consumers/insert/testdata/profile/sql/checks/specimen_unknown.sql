-- level: error
-- on: procedure_run
-- describes: An experiment names a specimen that its centre has not submitted,
--   or has deleted.
-- example: experiment E1 names specimen 77, which is in no specimen document of the centre.
SELECT c.position, c.record, x.ordinal, x.line, format('specimen %s of centre %s is not known', x.specimen_id, x.claim_centre)
  FROM candidate c JOIN warehouse.claimed_run_specimen x ON x.position = c.position AND x.record = c.record
  WHERE NOT EXISTS (
    SELECT FROM warehouse.claimed_specimen s WHERE s.specimen_id = x.specimen_id AND s.centre = x.claim_centre AND s.is_current);
-- again
SELECT x.position, x.record
  FROM warehouse.changed c
  JOIN warehouse.claimed_specimen s ON s.position = c.position AND s.record = c.ordinal
  JOIN warehouse.claimed_run_specimen x ON x.specimen_id = s.specimen_id AND x.claim_centre = s.centre
  WHERE c.centre = $1 AND c.record_type = 'specimen'
