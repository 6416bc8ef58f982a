-- Subjects may have findings and no record: deletions of what is not known.
INSERT INTO warehouse.overview AS o (centre, procedure_id, records, findings)
SELECT s.centre, s.subject, 0, coalesce(sum(n.findings), 0)
  FROM (SELECT centre, procedure_id AS subject FROM warehouse.overview WHERE centre = $1
    UNION SELECT centre, subject FROM warehouse.finding_count WHERE centre = $1) s
  LEFT JOIN warehouse.finding_count n ON n.centre = s.centre AND n.subject = s.subject
  GROUP BY s.centre, s.subject
ON CONFLICT (centre, procedure_id) DO UPDATE SET findings = excluded.findings
