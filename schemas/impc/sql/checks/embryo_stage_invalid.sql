-- level: error
-- on: specimen
-- describes: The stage of an embryo is not one of its unit: days after copulation from 0 to below 20, such as 12.5 or E12.5, or a Theiler stage from 1 to below 26, such as 20 or TS20.
-- example: stage="125" stageUnit="DPC".
SELECT s.position, s.record, s.ordinal, s.line,
    format('stage "%s" of embryo %s is no stage in %s: give %s', left(s.stage, 200), left(s.specimen_id, 200), s.stage_unit,
      CASE s.stage_unit WHEN 'Theiler' THEN 'a stage from 1 to 25, such as TS20' ELSE 'days from 0 to below 20, such as E12.5' END) AS message
  FROM candidate_specimen s
  WHERE s.kind = 'embryo' AND NOT CASE s.stage_unit
      WHEN 'DPC' THEN CASE WHEN coalesce(s.stage, '') ~ '^E?[0-9]{1,9}(\.[0-9]{0,20})?$' THEN ltrim(s.stage, 'E')::numeric < 20 ELSE false END
      WHEN 'Theiler' THEN CASE WHEN coalesce(s.stage, '') ~ '^(TS)?[0-9]{1,9}[abcd]?$' THEN substring(s.stage FROM '[0-9]+')::bigint BETWEEN 1 AND 25 ELSE false END
      ELSE false END
