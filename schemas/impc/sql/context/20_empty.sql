-- What no current run has any more is no context. $1 is the centre.
WITH gone AS (
  DELETE FROM warehouse.context_parameter x USING warehouse.context_group g
    WHERE x.stale IS NOT NULL AND x.parameter_ids = '{}' AND g.id = x.group_id AND g.centre = $1
    RETURNING x.group_id
)
DELETE FROM warehouse.context_group g
  WHERE g.id IN (SELECT group_id FROM gone) AND NOT EXISTS (SELECT FROM warehouse.context_run r WHERE r.group_id = g.id)
