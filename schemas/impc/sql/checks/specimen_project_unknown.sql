-- level: warn
-- on: specimen
-- describes: A specimen names a project that is not in the list warehouse.known_project.
-- example: project="Eumodic" instead of project="EUCOMM-EUMODIC".
SELECT s.position, s.record, s.ordinal, s.line,
    format('specimen %s names the project "%s", which is not known: correct project, or have it added to the list', left(s.specimen_id, 200), left(s.project, 200)) AS message
  FROM candidate_specimen s
  WHERE NOT EXISTS (SELECT FROM warehouse.known_project k WHERE k.name = coalesce(s.project, ''))
