-- level: error
-- on: specimen
-- describes: A specimenID is empty, or has blanks around it, so that nothing can refer to it.
-- example: specimenID=" 77" instead of specimenID="77".
SELECT s.position, s.record, s.ordinal, s.line,
    format('the specimenID "%s" is empty or has blanks around it: write it without', left(s.specimen_id, 200)) AS message
  FROM candidate_specimen s
  WHERE s.specimen_id = '' OR s.specimen_id <> btrim(s.specimen_id, E' \t\r\n')
