-- Adds to the context what became current since the last batch end, and takes
-- away what ceased to be. $1 is the centre.
WITH changed AS MATERIALIZED (
  SELECT r.position, r.ordinal, r.centre, coalesce(r.pipeline, '') AS pipeline, coalesce(r.project, '') AS project,
      r.procedure_id, coalesce(r.date_of_experiment, r.last_updated) AS day, CASE WHEN r.is_current THEN 1 ELSE -1 END AS sign
    FROM warehouse.procedure_run_changed c JOIN warehouse.procedure_run r USING (position, ordinal)
    WHERE c.centre = $1
), delta AS (
  SELECT c.centre, c.pipeline, c.project, c.procedure_id, m.parameter_id, sum(c.sign) AS measurements,
      min(c.day) FILTER (WHERE c.sign > 0) AS first_date, max(c.day) FILTER (WHERE c.sign > 0) AS last_date
    FROM changed c JOIN warehouse.measurement m ON m.position = c.position AND m.procedure_run = c.ordinal
    GROUP BY c.centre, c.pipeline, c.project, c.procedure_id, m.parameter_id
)
INSERT INTO warehouse.context AS x (centre, pipeline, project, procedure_id, parameter_id, measurements, first_date, last_date)
SELECT centre, pipeline, project, procedure_id, parameter_id, measurements, first_date, last_date FROM delta
ON CONFLICT (centre, procedure_id, parameter_id, pipeline, project) DO UPDATE SET
  measurements = x.measurements + excluded.measurements,
  first_date = least(x.first_date, excluded.first_date), last_date = greatest(x.last_date, excluded.last_date)
