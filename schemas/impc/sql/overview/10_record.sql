-- Counts the runs and specimens that became current since the last batch end,
-- and takes away those that ceased to be, as they were counted. How many values
-- a run has, the context knows. $1 is the centre. As in the context, the work
-- grows with the changes only. Each document is looked up once, and what of it
-- was counted before is read a stretch at a time.
WITH changed AS MATERIALIZED (
  SELECT c.position, array_agg(c.ordinal) AS records FROM warehouse.changed c WHERE c.centre = $1 GROUP BY c.position
), affected AS MATERIALIZED (
  SELECT c.position, a.record, k.record_type, k.is_current, k.centre, k.content_position, k.content_ordinal, d.file_date
    FROM changed c
    CROSS JOIN LATERAL (
      SELECT d.file_date FROM warehouse.document d WHERE d.position = c.position OFFSET 0) d
    CROSS JOIN LATERAL unnest(c.records) a (record)
    CROSS JOIN LATERAL (
      SELECT k.record_type, k.is_current, k.centre, k.content_position, k.content_ordinal
        FROM warehouse.claim k WHERE k.position = c.position AND k.ordinal = a.record OFFSET 0) k
), now AS (
  SELECT a.position, a.record, a.centre, r.kind, left(coalesce(r.procedure_id, ''), 500) AS procedure_id, a.file_date,
      coalesce((SELECT max(x.measurements) FROM warehouse.context_run x WHERE x.position = a.position AND x.record = a.record), 0) AS measurements
    FROM affected a
    CROSS JOIN LATERAL (
      SELECT r.kind, r.procedure_id FROM warehouse.procedure_run r WHERE r.position = a.content_position AND r.ordinal = a.content_ordinal OFFSET 0) r
    WHERE a.is_current AND a.record_type = 'procedure_run'
  UNION ALL
  SELECT a.position, a.record, a.centre, 'specimen', '', a.file_date, 0
    FROM affected a WHERE a.is_current AND a.record_type = 'specimen'
), known AS MATERIALIZED (
  SELECT r.position, r.record
    FROM (SELECT position, min(record) AS low, max(record) AS high FROM affected WHERE is_current GROUP BY position, record / 256) p
    CROSS JOIN LATERAL (
      SELECT r.position, r.record FROM warehouse.overview_record r WHERE r.position = p.position AND r.record BETWEEN p.low AND p.high OFFSET 0) r
), gone AS (
  DELETE FROM warehouse.overview_record r USING affected a
    WHERE NOT a.is_current AND r.position = a.position AND r.record = a.record
    RETURNING r.centre, r.kind, r.procedure_id, r.file_date, r.measurements
), came AS (
  INSERT INTO warehouse.overview_record (position, record, centre, kind, procedure_id, file_date, measurements)
  SELECT position, record, centre, kind, procedure_id, file_date, measurements FROM now
    WHERE ((position, record) IN (SELECT position, record FROM known)) IS NOT TRUE
  RETURNING centre, kind, procedure_id, file_date, measurements
), change AS (
  SELECT 1 AS sign, c.* FROM came c UNION ALL SELECT -1, g.* FROM gone g
)
INSERT INTO warehouse.overview_part AS o (centre, procedure_id, file_date, specimens, experiments, lines, housings, measurements)
SELECT centre, procedure_id, file_date,
    coalesce(sum(sign) FILTER (WHERE kind = 'specimen'), 0), coalesce(sum(sign) FILTER (WHERE kind = 'experiment'), 0),
    coalesce(sum(sign) FILTER (WHERE kind = 'line'), 0), coalesce(sum(sign) FILTER (WHERE kind = 'housing'), 0), sum(sign * measurements)
  FROM change GROUP BY centre, procedure_id, file_date
ON CONFLICT (centre, procedure_id, file_date) DO UPDATE SET
  specimens = o.specimens + excluded.specimens, experiments = o.experiments + excluded.experiments, lines = o.lines + excluded.lines,
  housings = o.housings + excluded.housings, measurements = o.measurements + excluded.measurements
