-- The first or last day has gone with a run: only there it is looked for anew,
-- from the end of the days on, run by run (OFFSET 0). $1 is the centre.
WITH fresh AS MATERIALIZED (
  SELECT x.group_id,
      array_agg(CASE WHEN u.parameter_id = ANY(x.stale) THEN (SELECT r.day FROM warehouse.context_run r
        WHERE r.group_id = x.group_id AND r.day IS NOT NULL AND EXISTS (
          SELECT FROM warehouse.claimed_measurement m
            WHERE m.position = r.position AND m.record = r.record AND left(m.parameter_id, 500) = u.parameter_id OFFSET 0)
        ORDER BY r.day LIMIT 1) ELSE u.first_date END ORDER BY u.n) AS first_dates,
      array_agg(CASE WHEN u.parameter_id = ANY(x.stale) THEN (SELECT r.day FROM warehouse.context_run r
        WHERE r.group_id = x.group_id AND r.day IS NOT NULL AND EXISTS (
          SELECT FROM warehouse.claimed_measurement m
            WHERE m.position = r.position AND m.record = r.record AND left(m.parameter_id, 500) = u.parameter_id OFFSET 0)
        ORDER BY r.day DESC LIMIT 1) ELSE u.last_date END ORDER BY u.n) AS last_dates
    FROM warehouse.context_parameter x JOIN warehouse.context_group g ON g.id = x.group_id
    CROSS JOIN LATERAL unnest(x.parameter_ids, x.first_dates, x.last_dates) WITH ORDINALITY u (parameter_id, first_date, last_date, n)
    WHERE x.stale IS NOT NULL AND g.centre = $1 GROUP BY x.group_id
)
UPDATE warehouse.context_parameter x SET first_dates = f.first_dates, last_dates = f.last_dates, stale = NULL
  FROM fresh f WHERE x.group_id = f.group_id
