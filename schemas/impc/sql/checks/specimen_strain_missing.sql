-- level: error
-- on: specimen
-- describes: A specimen of the baseline has no strain.
-- example: isBaseline="true" without strainID.
SELECT c.position, c.record, s.ordinal, s.line,
    format('specimen %s is of the baseline and has no strain: add strainID, or correct isBaseline', left(s.specimen_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_specimen s WHERE s.position = c.position AND s.record = c.record OFFSET 0) s
  WHERE s.is_baseline AND coalesce(btrim(s.strain_id, E' \t\r\n'), '') = ''
