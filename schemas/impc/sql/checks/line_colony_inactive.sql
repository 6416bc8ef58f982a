-- level: error
-- on: procedure_run
-- needs: colony
-- describes: A line names a colony for which nothing may be submitted (any more).
-- example: <line colonyID="ABCD"> after the work on colony ABCD was aborted.
SELECT r.position, r.record, r.ordinal, r.line,
    format('the colony "%s" of the line is not active: correct colonyID, or have the colony''s state corrected', left(r.colony_id, 200)) AS message
  FROM candidate_procedure_run r
  CROSS JOIN LATERAL (SELECT * FROM warehouse.reference_colony k WHERE k.colony_id = btrim(r.colony_id, E' \t\r\n') OFFSET 0) k
  WHERE r.kind = 'line' AND NOT k.active
