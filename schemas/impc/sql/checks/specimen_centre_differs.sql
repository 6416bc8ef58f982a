-- level: warn
-- on: specimen
-- describes: A specimen is phenotyped by another centre than the one that submits it.
-- example: phenotypingCentre="H" in a document of centre Ics.
SELECT s.position, s.record, s.ordinal, s.line,
    format('specimen %s is phenotyped by centre %s but submitted by %s: check phenotypingCentre', left(s.specimen_id, 200), left(s.phenotyping_centre, 200), s.claim_centre) AS message
  FROM candidate_specimen s
  WHERE s.phenotyping_centre <> s.claim_centre
