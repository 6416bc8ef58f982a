-- level: error
-- on: specimen
-- needs: colony
-- describes: A mutant names another production centre than the one that made its colony.
-- example: productionCentre="Ics" for a colony made by H.
SELECT s.position, s.record, s.ordinal, s.line,
    format('specimen %s names the production centre %s, but its colony "%s" was made by %s: correct productionCentre or colonyID',
      left(s.specimen_id, 200), left(s.production_centre, 200), left(s.colony_id, 200), left(k.production_centre, 200)) AS message
  FROM candidate_specimen s
  CROSS JOIN LATERAL (SELECT * FROM warehouse.reference_colony k WHERE k.colony_id = btrim(s.colony_id, E' \t\r\n') OFFSET 0) k
  WHERE NOT s.is_baseline AND k.production_centre <> '' AND lower(s.production_centre) <> lower(k.production_centre)
