-- Counts what became current since the last batch end, and takes away what
-- ceased to be, as it was counted. Looked at are the runs that changed, and
-- those that name a specimen that did: its colony, strain, zygosity or sex may
-- be others. A run that changed nothing in its dimensions costs no look at its
-- values. $1 is the centre.
--
-- The work is to grow with the changes only, whatever the planner believes
-- about their number. What is stored is read by index, record by record: passing
-- through an array, the planner believes in few, and OFFSET 0 keeps it from
-- reading more. What was read is only grouped, or looked up in the hash of an IN
-- that IS TRUE keeps from becoming a join: no part is joined with another. The
-- values of a series, and the terms, are between it and the next measurement. As
-- what runs were counted before is read a stretch of a document at a time: of
-- new runs there is nothing. Runs of a procedure have much the same parameters,
-- so that a run's are one list, and lists that are alike are added up as one.
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
    FROM unnest((SELECT array_agg(position) FROM changed), (SELECT array_agg(record) FROM changed)) a (position, record)
), now AS MATERIALIZED (
  SELECT d.*
    FROM affected a
    CROSS JOIN LATERAL (
      SELECT * FROM warehouse.run_dimension d WHERE d.position = a.position AND d.record = a.record OFFSET 0) d
), change AS MATERIALIZED (
  SELECT b.position, b.record, b.group_id, b.day, max(b.content_position) AS content_position, max(b.content_ordinal) AS content_ordinal, min(b.sign) AS sign
    FROM (
      SELECT 1 AS sign, n.position, n.record, n.group_id, n.day, n.content_position, n.content_ordinal FROM now n
      UNION ALL
      SELECT -1, r.position, r.record, r.group_id, r.day, k.content_position, k.content_ordinal
        FROM (SELECT position, min(record) AS low, max(record) AS high FROM affected GROUP BY position, record / 256) p
        CROSS JOIN LATERAL (
          SELECT r.position, r.record, r.group_id, r.day FROM warehouse.context_run r
            WHERE r.position = p.position AND r.record BETWEEN p.low AND p.high
              AND ((r.position, r.record) IN (SELECT position, record FROM affected)) IS TRUE OFFSET 0) r
        CROSS JOIN LATERAL (
          SELECT k.content_position, k.content_ordinal FROM warehouse.claim k WHERE k.position = r.position AND k.ordinal = r.record OFFSET 0) k) b
    GROUP BY b.position, b.record, b.group_id, b.day HAVING min(b.sign) = max(b.sign)
), amount AS MATERIALIZED (
  SELECT c.position, c.record, c.group_id, c.day, c.sign, m.*
    FROM change c
    CROSS JOIN LATERAL (
      SELECT array_agg(m.parameter_id) AS parameter_ids, array_agg(m.measurements) AS amounts, sum(m.measurements)::int AS measurements
        FROM (
          SELECT left(m.parameter_id, 500) AS parameter_id, sum(CASE m.kind
              WHEN 'series' THEN greatest(1, (SELECT count(*)::int FROM warehouse.series_value v
                WHERE v.position = m.position AND v.record = m.record AND v.parent = m.ordinal AND v.ordinal > m.ordinal AND v.ordinal < coalesce((
                  SELECT n.ordinal FROM warehouse.measurement n WHERE n.position = m.position AND n.record = m.record AND n.ordinal > m.ordinal
                    ORDER BY n.ordinal LIMIT 1), 2147483647)))
              WHEN 'ontology' THEN greatest(1, (SELECT count(*)::int FROM warehouse.ontology_term t
                WHERE t.position = m.position AND t.record = m.record AND t.parent = m.ordinal AND t.ordinal > m.ordinal AND t.ordinal < coalesce((
                  SELECT n.ordinal FROM warehouse.measurement n WHERE n.position = m.position AND n.record = m.record AND n.ordinal > m.ordinal
                    ORDER BY n.ordinal LIMIT 1), 2147483647)))
              ELSE 1 END) AS measurements
            FROM warehouse.measurement m
            WHERE m.position = c.content_position AND m.record = c.content_ordinal
            GROUP BY left(m.parameter_id, 500) ORDER BY 1) m OFFSET 0) m
    WHERE m.measurements > 0
), gone AS (
  DELETE FROM warehouse.context_run r USING change c
    WHERE c.sign < 0 AND r.position = c.position AND r.record = c.record AND r.group_id = c.group_id
), came AS (
  INSERT INTO warehouse.context_run (position, record, group_id, day, measurements)
  SELECT position, record, group_id, day, measurements FROM amount WHERE sign > 0
), combined AS (
  INSERT INTO warehouse.context_group (id, centre, procedure_id, pipeline, project, strain_id, colony_id, zygosity, sex)
  SELECT DISTINCT group_id, centre, procedure_id, pipeline, project, strain_id, colony_id, zygosity, sex FROM now
    WHERE (group_id IN (SELECT group_id FROM amount WHERE sign > 0)) IS TRUE
  ON CONFLICT DO NOTHING
  RETURNING id
), known AS MATERIALIZED (
  SELECT x.*
    FROM unnest((SELECT array_agg(DISTINCT group_id) FROM change WHERE (group_id IN (SELECT id FROM combined)) IS NOT TRUE)) g (id)
    CROSS JOIN LATERAL (SELECT * FROM warehouse.context_parameter x WHERE x.group_id = g.id OFFSET 0) x
), alike AS (
  SELECT group_id, sign, parameter_ids, amounts, sign * count(*) AS runs, min(day) AS first_date, max(day) AS last_date
    FROM amount GROUP BY group_id, sign, parameter_ids, amounts
), part AS (
  SELECT a.group_id, a.sign, u.parameter_id, a.runs, a.runs * u.measurements AS measurements, a.first_date, a.last_date
    FROM alike a CROSS JOIN LATERAL unnest(a.parameter_ids, a.amounts) u (parameter_id, measurements)
  UNION ALL
  SELECT k.group_id, 0, u.*
    FROM known k CROSS JOIN LATERAL unnest(k.parameter_ids, k.runs, k.measurements, k.first_dates, k.last_dates) u
), sum AS MATERIALIZED (
  SELECT group_id, parameter_id, sum(runs)::bigint AS runs, sum(measurements)::bigint AS measurements,
      min(first_date) FILTER (WHERE sign >= 0) AS first_date, max(last_date) FILTER (WHERE sign >= 0) AS last_date,
      coalesce(min(first_date) FILTER (WHERE sign < 0) <= min(first_date) FILTER (WHERE sign = 0)
          AND coalesce(min(first_date) FILTER (WHERE sign > 0) > min(first_date) FILTER (WHERE sign < 0), true), false)
        OR coalesce(max(last_date) FILTER (WHERE sign < 0) >= max(last_date) FILTER (WHERE sign = 0)
          AND coalesce(max(last_date) FILTER (WHERE sign > 0) < max(last_date) FILTER (WHERE sign < 0), true), false) AS stale
    FROM part GROUP BY group_id, parameter_id
)
INSERT INTO warehouse.context_parameter (group_id, parameter_ids, runs, measurements, first_dates, last_dates, stale)
SELECT group_id, coalesce(array_agg(parameter_id) FILTER (WHERE runs > 0), '{}'), coalesce(array_agg(runs) FILTER (WHERE runs > 0), '{}'),
    coalesce(array_agg(measurements) FILTER (WHERE runs > 0), '{}'), coalesce(array_agg(first_date) FILTER (WHERE runs > 0), '{}'),
    coalesce(array_agg(last_date) FILTER (WHERE runs > 0), '{}'),
    CASE WHEN max(runs) = 0 THEN '{}' ELSE array_agg(parameter_id) FILTER (WHERE runs > 0 AND stale) END
  FROM sum GROUP BY group_id
ON CONFLICT (group_id) DO UPDATE SET parameter_ids = excluded.parameter_ids, runs = excluded.runs, measurements = excluded.measurements,
  first_dates = excluded.first_dates, last_dates = excluded.last_dates, stale = excluded.stale
