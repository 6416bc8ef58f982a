-- +goose Up

-- Whether names have moved to another centre is found by comparing both sets: joined by
-- their ids, as before, each row was compared with each, and of 2,000 names in a batch
-- that took longer than all else that the tracker wrote. Where nothing was written
-- nothing is counted: putting the statement together that counts takes some milliseconds.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION tracker.tally() RETURNS trigger LANGUAGE plpgsql
-- From what moved to the rest, in the order written: a batch is a small part of all.
SET join_collapse_limit = 1 SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
DECLARE
  columns text; -- that decide
  counted text;
BEGIN
  PERFORM FROM new_rows LIMIT 1;
  IF NOT FOUND THEN -- an upsert is told as what it inserts and as what it updates, and one may be nothing
    RETURN NULL;
  END IF;
  CASE TG_TABLE_NAME
  WHEN 'zip_action' THEN
    columns := 'id, zip_id, download_id, phase_id, status_id, exception_id';
    counted := 'SELECT ''file'' AS what, z.centre_id AS of_id, r.phase_id, r.status_id, r.exception_id, d.note, d.repeats, d.documents_open, r.sign
      FROM moved r JOIN %1$I.zip_file z ON z.id = r.zip_id LEFT JOIN %1$I.zip_download d ON d.id = r.download_id
      UNION ALL SELECT ''document'', z.centre_id, m.phase_id, m.status_id, NULL, NULL, NULL, NULL, r.sign
      FROM (SELECT zip_id, download_id, sum(sign) AS sign FROM moved WHERE download_id IS NOT NULL GROUP BY 1, 2 HAVING sum(sign) <> 0) r
      JOIN %1$I.zip_file z ON z.id = r.zip_id JOIN %1$I.zip_download d ON d.id = r.download_id JOIN %1$I.xml_file m ON m.zip_id = d.id AND m.outcome = d.accepted';
  WHEN 'zip_download' THEN
    columns := 'id, accepted, note, repeats, documents_open';
    counted := 'SELECT ''file'' AS what, z.centre_id AS of_id, a.phase_id, a.status_id, a.exception_id, r.note, r.repeats, r.documents_open, r.sign
      FROM moved r JOIN %1$I.zip_action a ON a.download_id = r.id JOIN %1$I.zip_file z ON z.id = a.zip_id
      UNION ALL SELECT ''document'', z.centre_id, m.phase_id, m.status_id, NULL, NULL, NULL, NULL, r.sign
      FROM (SELECT id, accepted, sum(sign) AS sign FROM moved GROUP BY 1, 2 HAVING sum(sign) <> 0) r
      JOIN %1$I.zip_action a ON a.download_id = r.id JOIN %1$I.zip_file z ON z.id = a.zip_id JOIN %1$I.xml_file m ON m.zip_id = r.id AND m.outcome = r.accepted';
  WHEN 'xml_file' THEN
    columns := 'zip_id, outcome, phase_id, status_id';
    counted := 'SELECT ''document'' AS what, z.centre_id AS of_id, r.phase_id, r.status_id, NULL::uuid AS exception_id, NULL AS note, NULL::int AS repeats, NULL::int AS documents_open, r.sign
      FROM moved r JOIN %1$I.zip_download d ON d.id = r.zip_id AND d.accepted = r.outcome JOIN %1$I.zip_action a ON a.download_id = d.id JOIN %1$I.zip_file z ON z.id = a.zip_id';
  WHEN 'zip_file' THEN
    columns := 'id, centre_id';
    counted := 'SELECT ''file'' AS what, r.centre_id AS of_id, a.phase_id, a.status_id, a.exception_id, d.note, d.repeats, d.documents_open, r.sign
      FROM moved r JOIN %1$I.zip_action a ON a.zip_id = r.id LEFT JOIN %1$I.zip_download d ON d.id = a.download_id
      UNION ALL SELECT ''document'', r.centre_id, m.phase_id, m.status_id, NULL, NULL, NULL, NULL, r.sign
      FROM moved r JOIN %1$I.zip_action a ON a.zip_id = r.id JOIN %1$I.zip_download d ON d.id = a.download_id JOIN %1$I.xml_file m ON m.zip_id = d.id AND m.outcome = d.accepted';
    PERFORM FROM (SELECT id, centre_id FROM new_rows EXCEPT SELECT id, centre_id FROM old_rows) moved LIMIT 1;
    IF NOT FOUND THEN
      RETURN NULL;
    END IF;
  WHEN 'file_source_has_zip' THEN
    columns := 'file_source_id, state';
    counted := 'SELECT ''hosting'' AS what, file_source_id AS of_id, 0::smallint AS phase_id, 0::smallint AS status_id, NULL::uuid AS exception_id, NULL AS note, NULL::int AS repeats, NULL::int AS documents_open, sign
      FROM moved WHERE state = ''present''';
  END CASE;
  EXECUTE format('INSERT INTO %1$I.tally AS t (slot, what, of_id, phase_id, status_id, exception_id, ended, n)
    WITH moved AS (SELECT ' || columns || ', sum(sign) AS sign FROM (SELECT 1 AS sign, ' || columns || ' FROM new_rows'
      || CASE TG_OP WHEN 'UPDATE' THEN ' UNION ALL SELECT -1, ' || columns || ' FROM old_rows' ELSE '' END || ') r GROUP BY ' || columns || ' HAVING sum(sign) <> 0)
    SELECT nullif(current_setting(''tributary.slot'', true), '''')::int, what, coalesce(of_id, ''00000000-0000-0000-0000-000000000000''), phase_id, status_id,
      coalesce(CASE WHEN status_id = {status failed} THEN exception_id END, ''00000000-0000-0000-0000-000000000000'') AS exception_id,
      what = ''file'' AND CASE WHEN status_id IN ({status cancelled}, {status failed}) THEN coalesce(documents_open, 0) = 0
        WHEN note LIKE ''%%duplicate%%'' AND repeats IS NULL THEN true ELSE phase_id >= {phase overview} AND status_id = {status done} END AS ended, sum(sign)
    FROM (' || counted || ') c GROUP BY 1, 2, 3, 4, 5, 6, 7 HAVING sum(sign) <> 0 ORDER BY 2, 3, 4, 5, 6, 7
    ON CONFLICT (what, of_id, phase_id, status_id, exception_id, ended, slot) DO UPDATE SET n = t.n + excluded.n', TG_TABLE_SCHEMA);
  RETURN NULL;
END $$;
-- +goose StatementEnd
