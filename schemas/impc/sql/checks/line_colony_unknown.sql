-- level: error
-- on: procedure_run
-- needs: colony
-- describes: A line names a colony that the reference table colony does not have.
-- example: <line colonyID="ABCD"> for a colony that was never registered.
SELECT r.position, r.record, r.ordinal, r.line,
    format('the colony "%s" of the line is not known: correct colonyID, or have the colony registered', left(r.colony_id, 200)) AS message
  FROM candidate_procedure_run r
  WHERE r.kind = 'line' AND btrim(r.colony_id, E' \t\r\n') <> ''
    AND NOT EXISTS (SELECT FROM warehouse.reference_colony k WHERE k.colony_id = btrim(r.colony_id, E' \t\r\n') OFFSET 0)
