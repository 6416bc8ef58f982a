-- level: error
-- on: specimen
-- needs: strain
-- describes: A specimen of the baseline names a strain that the reference table strain does not have.
-- example: strainID="MGI:0000000".
SELECT s.position, s.record, s.ordinal, s.line,
    format('the strain "%s" of specimen %s is not known: correct strainID', left(s.strain_id, 200), left(s.specimen_id, 200)) AS message
  FROM candidate_specimen s
  WHERE s.is_baseline AND btrim(s.strain_id, E' \t\r\n') <> ''
    AND NOT EXISTS (SELECT FROM warehouse.reference_strain k WHERE k.strain_id = btrim(s.strain_id, E' \t\r\n') OFFSET 0)
