-- Adds what became current since the last batch end, and takes away what
-- ceased to be. $1 is the centre.
INSERT INTO warehouse.overview AS o (centre, procedure_id, records, findings)
SELECT c.centre, k.subject, sum(CASE WHEN k.is_current THEN 1 ELSE -1 END), 0
  FROM warehouse.changed c JOIN warehouse.claim k USING (position, ordinal) WHERE c.centre = $1 GROUP BY c.centre, k.subject
ON CONFLICT (centre, procedure_id) DO UPDATE SET records = o.records + excluded.records
