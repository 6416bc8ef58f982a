-- specimen_unknown (error): an experiment names a specimen that its centre has
-- not submitted, or has deleted. Only current experiments are judged. Looked at
-- are the runs that became current or ceased to be since the last batch end,
-- open findings, and whatever names a specimen that ceased to be current.
-- $1 is the centre. Returns the documents whose findings changed.
WITH candidate AS (
  SELECT rs.position, rs.procedure_run, rs.ordinal
    FROM warehouse.procedure_run_changed r
    JOIN warehouse.run_specimen rs ON rs.position = r.position AND rs.procedure_run = r.ordinal
    WHERE r.centre = $1
  UNION
  SELECT rs.position, rs.procedure_run, rs.ordinal
    FROM warehouse.finding f
    JOIN warehouse.run_specimen rs ON rs.position = f.position AND rs.ordinal = f.ordinal
    WHERE f.centre = $1 AND f.test = 'specimen_unknown' AND f.open
  UNION
  SELECT rs.position, rs.procedure_run, rs.ordinal
    FROM warehouse.specimen_changed c
    JOIN warehouse.specimen s USING (position, ordinal)
    JOIN warehouse.run_specimen rs ON rs.specimen_id = s.specimen_id
    WHERE c.centre = $1 AND NOT s.is_current
), verdict AS (
  SELECT c.position, c.ordinal, r.centre, r.procedure_id, r.line, r.col, rs.specimen_id,
      r.is_current AND NOT EXISTS (
        SELECT FROM warehouse.specimen s WHERE s.specimen_id = rs.specimen_id AND s.centre = r.centre AND s.is_current) AS bad
    FROM candidate c
    JOIN warehouse.run_specimen rs ON rs.position = c.position AND rs.procedure_run = c.procedure_run AND rs.ordinal = c.ordinal
    JOIN warehouse.procedure_run r ON r.position = c.position AND r.ordinal = c.procedure_run
    WHERE r.centre = $1
), opened AS (
  INSERT INTO warehouse.finding AS f (position, ordinal, test, centre, procedure_id, line, col, level, message, open)
  SELECT position, ordinal, 'specimen_unknown', centre, procedure_id, line, col, 'error',
      format('specimen %s of centre %s is not known: submit it, or correct the experiment', left(specimen_id, 200), centre), true
    FROM verdict WHERE bad
  ON CONFLICT (position, ordinal, test) DO UPDATE SET open = true WHERE NOT f.open
  RETURNING position
), closed AS (
  UPDATE warehouse.finding f SET open = false FROM verdict v
    WHERE NOT v.bad AND f.position = v.position AND f.ordinal = v.ordinal AND f.test = 'specimen_unknown' AND f.open
  RETURNING f.position
)
SELECT position FROM opened UNION SELECT position FROM closed
