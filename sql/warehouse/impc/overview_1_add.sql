-- Numbers of current rows for what changed since the last batch end. $1 is the
-- centre.
WITH changed AS MATERIALIZED (
  SELECT coalesce(r.procedure_id, '') AS procedure_id, sum(CASE WHEN r.is_current THEN 1 ELSE -1 END) AS runs, 0::bigint AS specimens
    FROM warehouse.procedure_run_changed c JOIN warehouse.procedure_run r USING (position, ordinal)
    WHERE c.centre = $1 GROUP BY 1
  UNION ALL
  SELECT '', 0, sum(CASE WHEN s.is_current THEN 1 ELSE -1 END)
    FROM warehouse.specimen_changed c JOIN warehouse.specimen s USING (position, ordinal)
    WHERE c.centre = $1
), delta AS (
  SELECT procedure_id, sum(runs) AS runs, coalesce(sum(specimens), 0) AS specimens FROM changed GROUP BY procedure_id
)
INSERT INTO warehouse.overview AS o (centre, procedure_id, specimens, runs, measurements)
SELECT $1, d.procedure_id, d.specimens, d.runs,
    coalesce((SELECT sum(x.measurements) FROM warehouse.context x WHERE x.centre = $1 AND x.procedure_id = d.procedure_id), 0)
  FROM delta d
ON CONFLICT (centre, procedure_id) DO UPDATE SET
  specimens = o.specimens + excluded.specimens, runs = o.runs + excluded.runs, measurements = excluded.measurements
