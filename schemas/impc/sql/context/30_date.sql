-- The first or last day has gone with a run: only there it is looked for anew,
-- from the end of the days on, run by run (OFFSET 0). $1 is the centre.
WITH fresh AS MATERIALIZED (
  SELECT x.group_id, x.parameter_id,
      (SELECT r.day FROM warehouse.context_run r
        WHERE r.group_id = x.group_id AND r.day IS NOT NULL AND EXISTS (
          SELECT FROM warehouse.claimed_measurement m
            WHERE m.position = r.position AND m.record = r.record AND left(m.parameter_id, 500) = x.parameter_id OFFSET 0)
        ORDER BY r.day LIMIT 1) AS first_date,
      (SELECT r.day FROM warehouse.context_run r
        WHERE r.group_id = x.group_id AND r.day IS NOT NULL AND EXISTS (
          SELECT FROM warehouse.claimed_measurement m
            WHERE m.position = r.position AND m.record = r.record AND left(m.parameter_id, 500) = x.parameter_id OFFSET 0)
        ORDER BY r.day DESC LIMIT 1) AS last_date
    FROM warehouse.context_count x JOIN warehouse.context_group g ON g.id = x.group_id
    WHERE x.stale AND g.centre = $1
)
UPDATE warehouse.context_count x SET first_date = f.first_date, last_date = f.last_date, stale = false
  FROM fresh f WHERE x.group_id = f.group_id AND x.parameter_id = f.parameter_id
