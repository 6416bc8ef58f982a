-- level: error
-- on: specimen
-- needs: colony
-- describes: A mutant names a colony that the reference table colony does not have.
-- example: colonyID="ABCD" for a colony that was never registered.
SELECT s.position, s.record, s.ordinal, s.line,
    format('the colony "%s" of specimen %s is not known: correct colonyID, or have the colony registered', left(s.colony_id, 200), left(s.specimen_id, 200)) AS message
  FROM candidate_specimen s
  WHERE NOT s.is_baseline AND btrim(s.colony_id, E' \t\r\n') <> ''
    AND NOT EXISTS (SELECT FROM warehouse.reference_colony k WHERE k.colony_id = btrim(s.colony_id, E' \t\r\n') OFFSET 0)
