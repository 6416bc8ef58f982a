-- level: error
-- on: specimen
-- needs: colony
-- describes: A mutant names a colony for which nothing may be submitted (any more).
-- example: colonyID="ABCD" after the work on colony ABCD was aborted.
SELECT s.position, s.record, s.ordinal, s.line,
    format('the colony "%s" of specimen %s is not active: correct colonyID, or have the colony''s state corrected', left(s.colony_id, 200), left(s.specimen_id, 200)) AS message
  FROM candidate_specimen s
  CROSS JOIN LATERAL (SELECT * FROM warehouse.reference_colony k WHERE k.colony_id = btrim(s.colony_id, E' \t\r\n') OFFSET 0) k
  WHERE NOT s.is_baseline AND NOT k.active
