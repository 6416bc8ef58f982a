-- +goose Up

-- How many files, documents and hostings stand where is counted as they move, so that
-- who asks does not count them. Who writes says its slot, the least partition of its
-- batch, whose offset it has locked: so nobody waits for another's counters. What an
-- older program writes is counted in rows without a slot, which are not merged.
LOCK TABLE tracker.consumed IN EXCLUSIVE MODE; -- no member writes until this is committed
CREATE TABLE tracker.tally (
  slot int, what text NOT NULL, of_id uuid NOT NULL, phase_id smallint NOT NULL, status_id smallint NOT NULL, exception_id uuid NOT NULL, ended boolean NOT NULL,
  n bigint NOT NULL,
  UNIQUE (what, of_id, phase_id, status_id, exception_id, ended, slot))
  WITH (fillfactor = 50);
COMMENT ON TABLE tracker.tally IS 'how many files, documents and hostings stand where, in parts that are added up: read the view standing';
COMMENT ON COLUMN tracker.tally.slot IS 'who counted; null: not the tracker of a newer version';
COMMENT ON COLUMN tracker.tally.what IS 'file, document or hosting';
COMMENT ON COLUMN tracker.tally.of_id IS 'the producing centre of files and documents, the source of hostings; zeros: none';
COMMENT ON COLUMN tracker.tally.phase_id IS 'the phase in which they stand; 0 for hostings';
COMMENT ON COLUMN tracker.tally.status_id IS 'how that phase stands; 0 for hostings';
COMMENT ON COLUMN tracker.tally.exception_id IS 'why files failed; zeros: they have not';
COMMENT ON COLUMN tracker.tally.ended IS 'of files, that they have ended, as in the view file';
COMMENT ON COLUMN tracker.tally.n IS 'how many came here less how many left, as this slot saw it';

CREATE VIEW tracker.standing AS
SELECT what, nullif(of_id, '00000000-0000-0000-0000-000000000000') AS of_id, phase_id, status_id, nullif(exception_id, '00000000-0000-0000-0000-000000000000') AS exception_id, ended, sum(n)::bigint AS n
FROM tracker.tally GROUP BY tally.what, tally.of_id, tally.phase_id, tally.status_id, tally.exception_id, tally.ended HAVING sum(n) <> 0;
COMMENT ON VIEW tracker.standing IS 'how many files, shown documents and hostings that are present stand where';
COMMENT ON COLUMN tracker.standing.what IS 'file, document or hosting';
COMMENT ON COLUMN tracker.standing.of_id IS 'the producing centre of files and documents, the source of hostings';
COMMENT ON COLUMN tracker.standing.phase_id IS 'the phase in which they stand; 0 for hostings';
COMMENT ON COLUMN tracker.standing.status_id IS 'how that phase stands; 0 for hostings';
COMMENT ON COLUMN tracker.standing.exception_id IS 'why files failed; null for all else';
COMMENT ON COLUMN tracker.standing.ended IS 'of files, that they have ended, as in the view file; false for all else';
COMMENT ON COLUMN tracker.standing.n IS 'how many';

-- What moves is counted where it is now, and taken away where it was. What decides where
-- that is lies in several tables: a change of each moves what hangs on it. The row of a
-- name is locked by whoever writes one of its files, and that of a file by whoever writes
-- what it has, so that none of it changes meanwhile. Statements are put together since a
-- rebuild renames the schema.
-- +goose StatementBegin
CREATE FUNCTION tracker.tally() RETURNS trigger LANGUAGE plpgsql
-- From what moved to the rest, in the order written: a batch is a small part of all.
SET join_collapse_limit = 1 SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
DECLARE
  columns text; -- that decide
  counted text;
BEGIN
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
    PERFORM FROM new_rows n JOIN old_rows o USING (id) WHERE n.centre_id IS DISTINCT FROM o.centre_id LIMIT 1;
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
CREATE TRIGGER tally_new AFTER INSERT ON tracker.zip_action REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tracker.tally();
CREATE TRIGGER tally_moved AFTER UPDATE ON tracker.zip_action REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tracker.tally();
CREATE TRIGGER tally_moved AFTER UPDATE ON tracker.zip_download REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tracker.tally();
CREATE TRIGGER tally_new AFTER INSERT ON tracker.xml_file REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tracker.tally();
CREATE TRIGGER tally_moved AFTER UPDATE ON tracker.xml_file REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tracker.tally();
CREATE TRIGGER tally_moved AFTER UPDATE ON tracker.zip_file REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tracker.tally();
CREATE TRIGGER tally_new AFTER INSERT ON tracker.file_source_has_zip REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tracker.tally();
CREATE TRIGGER tally_moved AFTER UPDATE ON tracker.file_source_has_zip REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tracker.tally();

INSERT INTO tracker.tally
SELECT 0, 'file', coalesce(z.centre_id, '00000000-0000-0000-0000-000000000000'), f.phase_id, f.status_id,
  coalesce(CASE WHEN f.status_id = {status failed} THEN a.exception_id END, '00000000-0000-0000-0000-000000000000'), f.ended, count(*)
FROM tracker.file f JOIN tracker.zip_action a ON a.id = f.id JOIN tracker.zip_file z ON z.id = a.zip_id GROUP BY 3, 4, 5, 6, 7
UNION ALL
SELECT 0, 'document', coalesce(z.centre_id, '00000000-0000-0000-0000-000000000000'), m.phase_id, m.status_id, '00000000-0000-0000-0000-000000000000', false, count(*)
FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id JOIN tracker.zip_download d ON d.id = a.download_id
JOIN tracker.xml_file m ON m.zip_id = d.id AND m.outcome = d.accepted GROUP BY 3, 4, 5
UNION ALL
SELECT 0, 'hosting', file_source_id, 0, 0, '00000000-0000-0000-0000-000000000000', false, count(*)
FROM tracker.file_source_has_zip WHERE state = 'present' GROUP BY 3;

CREATE OR REPLACE VIEW tracker.source AS
SELECT s.id, s.short_name AS source, c.short_name AS centre, p.short_name AS protocol, s.hostname, s.username, s.base_path, r.short_name AS state,
  (SELECT coalesce(sum(h.n), 0)::bigint FROM tracker.tally h WHERE h.what = 'hosting' AND h.of_id = s.id) AS files,
  t.finish_time AS last_poll, ts.short_name AS last_poll_status, x.short_name AS exception, t.message, t.counts
FROM tracker.file_source s
LEFT JOIN tracker.centre c ON c.id = s.centre_id
LEFT JOIN tracker.source_protocol p ON p.id = s.protocol_id
LEFT JOIN tracker.resource_state r ON r.id = s.state_id
LEFT JOIN LATERAL (SELECT * FROM tracker.poll_task k WHERE k.file_source_id = s.id ORDER BY k.finish_time DESC NULLS LAST, k.id LIMIT 1) t ON true
LEFT JOIN tracker.a_status ts ON ts.id = t.status_id
LEFT JOIN tracker.an_exception x ON x.id = t.exception_id;

-- The last poll of a source, those that found something, and those that failed; sessions by
-- their number.
CREATE INDEX poll_task_last_idx ON tracker.poll_task (file_source_id, finish_time DESC NULLS LAST, id);
CREATE INDEX poll_task_finds_idx ON tracker.poll_task (file_source_id, finish_time)
  WHERE coalesce(counts->>'new', '0') <> '0' OR coalesce(counts->>'changed', '0') <> '0';
CREATE INDEX poll_task_failed_idx ON tracker.poll_task (file_source_id) WHERE exception_id IS NOT NULL;
CREATE INDEX ON tracker.crawling_session (number);
-- Files that are on their way, those first seen first; those that failed, the last of each
-- exception first; attempts that failed.
CREATE INDEX zip_action_on_the_way_idx ON tracker.zip_action (created)
  WHERE status_id < {status done} OR status_id = {status done} AND phase_id < {phase overview};
CREATE INDEX zip_action_failed_idx ON tracker.zip_action (exception_id, last_update) WHERE status_id = {status failed};
CREATE INDEX ON tracker.zip_download (exception_id) WHERE exception_id IS NOT NULL;
-- What was received in some weeks.
CREATE INDEX ON tracker.zip_version (received);
