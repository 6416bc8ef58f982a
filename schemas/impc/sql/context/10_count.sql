-- Counts what became current since the last batch end, and takes away what
-- ceased to be, as it was counted. Looked at are the runs that changed, and
-- those that name a specimen that did: its colony, strain, zygosity or sex may
-- be others. A run that changed nothing in its dimensions costs no look at its
-- values. $1 is the centre.
--
-- The work is to grow with the changes only, whatever the planner believes
-- about their number: passing through an array, it believes in few, and OFFSET
-- 0 keeps it reading by index, run by run; no part is joined with another.
WITH changed AS MATERIALIZED (
  SELECT c.position, c.ordinal AS record
    FROM warehouse.changed c WHERE c.centre = $1 AND c.record_type = 'procedure_run'
  UNION
  SELECT x.position, x.record
    FROM warehouse.changed c
    CROSS JOIN LATERAL (
      SELECT s.specimen_id FROM warehouse.claimed_specimen s WHERE s.position = c.position AND s.record = c.ordinal OFFSET 0) s
    CROSS JOIN LATERAL (
      SELECT x.position, x.record FROM warehouse.claimed_run_specimen x
        WHERE x.specimen_id = s.specimen_id AND x.claim_centre = $1 AND x.is_current OFFSET 0) x
    WHERE c.centre = $1 AND c.record_type = 'specimen'
), affected AS MATERIALIZED (
  SELECT a.position, a.record
    FROM unnest((SELECT array_agg(position ORDER BY position, record) FROM changed), (SELECT array_agg(record ORDER BY position, record) FROM changed)) a (position, record)
), now AS MATERIALIZED (
  SELECT d.*
    FROM affected a
    CROSS JOIN LATERAL (
      SELECT * FROM warehouse.run_dimension d WHERE d.position = a.position AND d.record = a.record OFFSET 0) d
), combined AS (
  INSERT INTO warehouse.context_group (id, centre, procedure_id, pipeline, project, strain_id, colony_id, zygosity, sex)
  SELECT DISTINCT group_id, centre, procedure_id, pipeline, project, strain_id, colony_id, zygosity, sex FROM now
  ON CONFLICT DO NOTHING
), change AS MATERIALIZED (
  SELECT b.position, b.record, b.group_id, b.day, sum(b.sign) AS sign
    FROM (
      SELECT 1 AS sign, n.position, n.record, n.group_id, n.day FROM now n
      UNION ALL
      SELECT -1, a.position, a.record, r.group_id, r.day
        FROM affected a
        CROSS JOIN LATERAL (
          SELECT r.group_id, r.day FROM warehouse.context_run r WHERE r.position = a.position AND r.record = a.record OFFSET 0) r) b
    GROUP BY b.position, b.record, b.group_id, b.day HAVING sum(b.sign) <> 0
), amount AS MATERIALIZED (
  SELECT c.position, c.record, c.group_id, c.day, c.sign, v.parameter_id, v.measurements
    FROM change c
    CROSS JOIN LATERAL (
      SELECT left(m.parameter_id, 500) AS parameter_id, sum(coalesce(p.n, 1))::bigint AS measurements
        FROM warehouse.claimed_measurement m
        LEFT JOIN (
          SELECT v.parent, count(*) AS n FROM warehouse.claimed_series_value v
            WHERE v.position = c.position AND v.record = c.record GROUP BY v.parent
          UNION ALL
          SELECT t.parent, count(*) FROM warehouse.claimed_ontology_term t
            WHERE t.position = c.position AND t.record = c.record GROUP BY t.parent
        ) p ON p.parent = m.ordinal
        WHERE m.position = c.position AND m.record = c.record
        GROUP BY 1 OFFSET 0) v
), gone AS (
  DELETE FROM warehouse.context_run r USING change c
    WHERE c.sign < 0 AND r.position = c.position AND r.record = c.record AND r.group_id = c.group_id
), came AS (
  INSERT INTO warehouse.context_run (position, record, group_id, day, measurements)
  SELECT position, record, group_id, day, sum(measurements) FROM amount WHERE sign > 0 GROUP BY position, record, group_id, day
), delta AS MATERIALIZED (
  SELECT group_id, parameter_id, sum(sign) AS runs, sum(sign * measurements) AS measurements,
      min(day) FILTER (WHERE sign > 0) AS first_date, max(day) FILTER (WHERE sign > 0) AS last_date,
      min(day) FILTER (WHERE sign < 0) AS first_gone, max(day) FILTER (WHERE sign < 0) AS last_gone
    FROM amount GROUP BY group_id, parameter_id
), known AS (
  UPDATE warehouse.context_count x SET
      runs = x.runs + d.runs, measurements = x.measurements + d.measurements,
      first_date = least(x.first_date, d.first_date), last_date = greatest(x.last_date, d.last_date),
      stale = x.runs + d.runs = 0
        OR coalesce(d.first_gone <= x.first_date AND coalesce(d.first_date > d.first_gone, true), false)
        OR coalesce(d.last_gone >= x.last_date AND coalesce(d.last_date < d.last_gone, true), false)
    FROM delta d WHERE x.group_id = d.group_id AND x.parameter_id = d.parameter_id
)
INSERT INTO warehouse.context_count (group_id, parameter_id, runs, measurements, first_date, last_date)
SELECT d.group_id, d.parameter_id, d.runs, d.measurements, d.first_date, d.last_date
  FROM delta d
  WHERE NOT EXISTS (SELECT FROM warehouse.context_count x WHERE x.group_id = d.group_id AND x.parameter_id = d.parameter_id)
