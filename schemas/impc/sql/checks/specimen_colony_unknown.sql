-- level: error
-- on: specimen
-- needs: colony
-- describes: A mutant names a colony that the reference table colony does not have.
-- example: colonyID="ABCD" for a colony that was never registered.
SELECT c.position, c.record, s.ordinal, s.line,
    format('the colony "%s" of specimen %s is not known: correct colonyID, or have the colony registered', left(s.colony_id, 200), left(s.specimen_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_specimen s WHERE s.position = c.position AND s.record = c.record OFFSET 0) s
  WHERE NOT s.is_baseline AND btrim(s.colony_id, E' \t\r\n') <> ''
    AND NOT EXISTS (SELECT FROM warehouse.reference_colony k WHERE k.colony_id = btrim(s.colony_id, E' \t\r\n') OFFSET 0)
