-- level: error
-- on: specimen
-- describes: A mutant has no colony.
-- example: isBaseline="false" without colonyID.
SELECT c.position, c.record, s.ordinal, s.line,
    format('specimen %s is a mutant and has no colony: add colonyID, or correct isBaseline', left(s.specimen_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_specimen s WHERE s.position = c.position AND s.record = c.record OFFSET 0) s
  WHERE NOT s.is_baseline AND coalesce(btrim(s.colony_id, E' \t\r\n'), '') = ''
