-- Combinations of dimensions that are new. Looked at are the runs that became
-- current since the last batch end, and those that name a specimen that became
-- current or ceased to be: its colony, strain, zygosity or sex may be others.
-- $1 is the centre. OFFSET 0 keeps reading by index, run by run, whatever the
-- planner believes about the number of changes.
WITH affected AS MATERIALIZED (
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
)
INSERT INTO warehouse.context_group (centre, procedure_id, pipeline, project, strain_id, colony_id, zygosity, sex)
SELECT DISTINCT d.centre, d.procedure_id, d.pipeline, d.project, d.strain_id, d.colony_id, d.zygosity, d.sex
  FROM affected a
  CROSS JOIN LATERAL (
    SELECT * FROM warehouse.run_dimension d WHERE d.position = a.position AND d.record = a.record OFFSET 0) d
  WHERE NOT EXISTS (
    SELECT FROM warehouse.context_group g
      WHERE g.centre = d.centre AND g.procedure_id = d.procedure_id AND g.colony_id = d.colony_id AND g.strain_id = d.strain_id
        AND g.zygosity = d.zygosity AND g.sex = d.sex AND g.pipeline = d.pipeline AND g.project = d.project)
