-- level: error
-- on: specimen
-- describes: A mutant has no colony.
-- example: isBaseline="false" without colonyID.
SELECT s.position, s.record, s.ordinal, s.line,
    format('specimen %s is a mutant and has no colony: add colonyID, or correct isBaseline', left(s.specimen_id, 200)) AS message
  FROM candidate_specimen s
  WHERE NOT s.is_baseline AND coalesce(btrim(s.colony_id, E' \t\r\n'), '') = ''
