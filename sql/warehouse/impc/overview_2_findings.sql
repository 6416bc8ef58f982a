-- Open findings per procedure. $1 is the centre.
WITH counts AS (
  SELECT o.procedure_id, (SELECT count(*) FROM warehouse.finding f
      WHERE f.centre = $1 AND f.open AND coalesce(f.procedure_id, '') = o.procedure_id) AS findings
    FROM warehouse.overview o WHERE o.centre = $1
)
UPDATE warehouse.overview o SET findings = c.findings FROM counts c
  WHERE o.centre = $1 AND o.procedure_id = c.procedure_id AND o.findings <> c.findings
