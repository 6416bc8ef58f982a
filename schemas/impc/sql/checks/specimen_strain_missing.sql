-- level: error
-- on: specimen
-- describes: A specimen of the baseline has no strain.
-- example: isBaseline="true" without strainID.
SELECT s.position, s.record, s.ordinal, s.line,
    format('specimen %s is of the baseline and has no strain: add strainID, or correct isBaseline', left(s.specimen_id, 200)) AS message
  FROM candidate_specimen s
  WHERE s.is_baseline AND coalesce(btrim(s.strain_id, E' \t\r\n'), '') = ''
