-- level: error
-- on: procedure_run
-- needs: colony
-- describes: A line names a colony that the reference table colony does not have.
-- example: <line colonyID="ABCD"> for a colony that was never registered.
SELECT c.position, c.record, r.ordinal, r.line,
    format('the colony "%s" of the line is not known: correct colonyID, or have the colony registered', left(r.colony_id, 200)) AS message
  FROM candidate c
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.claimed_procedure_run r WHERE r.position = c.position AND r.record = c.record OFFSET 0) r
  WHERE r.kind = 'line' AND btrim(r.colony_id, E' \t\r\n') <> ''
    AND NOT EXISTS (SELECT FROM warehouse.reference_colony k WHERE k.colony_id = btrim(r.colony_id, E' \t\r\n') OFFSET 0)
