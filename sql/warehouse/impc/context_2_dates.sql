-- A date that was the first or the last may have gone with what ceased to be
-- current: only those are looked for anew. $1 is the centre.
WITH gone AS MATERIALIZED (
  SELECT DISTINCT coalesce(r.pipeline, '') AS pipeline, coalesce(r.project, '') AS project, r.procedure_id,
      coalesce(r.date_of_experiment, r.last_updated) AS day
    FROM warehouse.procedure_run_changed c JOIN warehouse.procedure_run r USING (position, ordinal)
    WHERE c.centre = $1 AND NOT r.is_current
), stale AS MATERIALIZED (
  SELECT DISTINCT x.pipeline, x.project, x.procedure_id
    FROM gone g JOIN warehouse.context x ON x.centre = $1 AND x.procedure_id = g.procedure_id AND x.pipeline = g.pipeline AND x.project = g.project
    WHERE g.day IN (x.first_date, x.last_date)
), fresh AS (
  SELECT s.pipeline, s.project, s.procedure_id, m.parameter_id,
      min(coalesce(r.date_of_experiment, r.last_updated)) AS first_date, max(coalesce(r.date_of_experiment, r.last_updated)) AS last_date
    FROM stale s
    JOIN warehouse.procedure_run r ON r.centre = $1 AND r.procedure_id = s.procedure_id AND r.is_current
      AND coalesce(r.pipeline, '') = s.pipeline AND coalesce(r.project, '') = s.project
    JOIN warehouse.measurement m ON m.position = r.position AND m.procedure_run = r.ordinal
    GROUP BY s.pipeline, s.project, s.procedure_id, m.parameter_id
)
UPDATE warehouse.context x SET first_date = f.first_date, last_date = f.last_date FROM fresh f
  WHERE x.centre = $1 AND x.procedure_id = f.procedure_id AND x.parameter_id = f.parameter_id AND x.pipeline = f.pipeline AND x.project = f.project
