-- +goose Up

-- By what documents were judged and loaded: null where nobody said, as before
-- events told it.
ALTER TABLE tracker.xml_file ADD COLUMN unzip_version text, ADD COLUMN xsd_version text, ADD COLUMN upload_version text, ADD COLUMN data_version text;
COMMENT ON COLUMN tracker.xml_file.unzip_version IS 'version of the rules by which its archive and its name were judged; null where that is not known';
COMMENT ON COLUMN tracker.xml_file.xsd_version IS 'version of the schemas by which it was judged; null where it was not, or that is not known';
COMMENT ON COLUMN tracker.xml_file.upload_version IS 'version of the mapping by which it was loaded; null where it was not, or that is not known';
COMMENT ON COLUMN tracker.xml_file.data_version IS 'version of the checks at the end of its batch; null before it, or where that is not known; tracker.document has the latest';
ALTER TABLE tracker.zip_download ADD COLUMN unzip_version text;
COMMENT ON COLUMN tracker.zip_download.unzip_version IS 'version of the rules by which its archive was judged; null where it was not, or that is not known';
ALTER TABLE tracker.batch ADD COLUMN position bigint, ADD COLUMN checked_version text;
COMMENT ON COLUMN tracker.batch.position IS 'position of its end in the order of insertion';
COMMENT ON COLUMN tracker.batch.checked_version IS 'version of the checks that judged all records of the centre at its end; null if they judged what had changed only';
UPDATE tracker.batch SET position = (merge::jsonb->>'pos')::bigint WHERE merge <> ''; -- what was told before is kept there
CREATE INDEX ON tracker.batch (centre_id, position) WHERE checked_version IS NOT NULL;
ALTER TABLE tracker.replay ADD COLUMN shadow text, ADD COLUMN promotes uuid;
COMMENT ON COLUMN tracker.replay.shadow IS 'name of the shadow that its results went to; null for a replay whose results are live';
COMMENT ON COLUMN tracker.replay.promotes IS 'the shadow run whose results it made live';

CREATE OR REPLACE VIEW tracker.document AS
SELECT m.id, m.fname AS document, z.file_name AS file, t.short_name AS action, d.version, c.short_name AS centre,
  p.short_name AS phase, st.short_name AS status, x.short_name AS exception, m.message, m.errors_total,
  m.kind, m.created, m.inc, m.size_bytes, m.content_sha256 AS sha256, m.ordinal, m.rows_loaded, m.position, m.checked,
  m.phase_id, m.status_id, a.id AS file_id, d.id AS download_id, d.session_id, m.first_seen, m.last_update,
  m.unzip_version, m.xsd_version, m.upload_version,
  -- Those of a centre that are checked later are checked together.
  CASE WHEN m.phase_id >= {phase data} THEN coalesce((SELECT b.checked_version FROM tracker.batch b WHERE b.centre_id = z.centre_id AND b.checked_version IS NOT NULL AND b.position > m.position
    ORDER BY b.position DESC, b.number DESC LIMIT 1), m.data_version) END AS data_version
FROM tracker.zip_action a
JOIN tracker.zip_download d ON d.id = a.download_id
JOIN tracker.xml_file m ON m.zip_id = d.id AND m.outcome = d.accepted
JOIN tracker.zip_file z ON z.id = a.zip_id
JOIN tracker.processing_type t ON t.id = a.todo_id
JOIN tracker.phase p ON p.id = m.phase_id
JOIN tracker.a_status st ON st.id = m.status_id
LEFT JOIN tracker.centre c ON c.id = z.centre_id
LEFT JOIN tracker.an_exception x ON x.id = m.exception_id;
COMMENT ON COLUMN tracker.document.unzip_version IS 'version of the rules by which its archive and its name were judged; null where that is not known';
COMMENT ON COLUMN tracker.document.xsd_version IS 'version of the schemas by which it was judged; null where it was not, or that is not known';
COMMENT ON COLUMN tracker.document.upload_version IS 'version of the mapping by which it was loaded; null where it was not, or that is not known';
COMMENT ON COLUMN tracker.document.data_version IS 'version of the checks that judged all of it last; null where they did not, or that is not known';

CREATE OR REPLACE VIEW tracker.file AS
SELECT a.id, z.file_name AS file, t.short_name AS action, d.version, c.short_name AS centre, s.short_name AS source,
  p.short_name AS phase, st.short_name AS status, x.short_name AS exception, a.message, a.attempts,
  CASE WHEN a.phase_id > {phase zip_name} OR a.status_id <> {status failed}
    THEN coalesce(v.size_bytes, d.size_bytes, (SELECT max(h.size_bytes) FROM tracker.file_source_has_zip h WHERE h.za_id = a.id)) END AS size_bytes,
  d.version AS sha256, d.content_md5 AS md5, z.created, z.inc, a.phase_id, a.status_id, a.download_id, d.attempt, d.run, d.session_id,
  d.documents, d.documents_known, d.documents_open, d.documents_failed, a.created AS first_seen, a.last_update,
  CASE WHEN a.status_id IN ({status cancelled}, {status failed}) THEN coalesce(d.documents_open, 0) = 0
       WHEN d.note LIKE '%duplicate%' AND d.repeats IS NULL THEN true
       ELSE a.phase_id >= {phase overview} AND a.status_id = {status done} END AS ended,
  d.unzip_version
FROM tracker.zip_action a
JOIN tracker.zip_file z ON z.id = a.zip_id
JOIN tracker.processing_type t ON t.id = a.todo_id
JOIN tracker.phase p ON p.id = a.phase_id
JOIN tracker.a_status st ON st.id = a.status_id
LEFT JOIN tracker.centre c ON c.id = z.centre_id
LEFT JOIN tracker.an_exception x ON x.id = a.exception_id
LEFT JOIN tracker.zip_download d ON d.id = a.download_id
LEFT JOIN tracker.file_source_has_zip h ON h.id = d.zf_id
LEFT JOIN tracker.file_source s ON s.id = h.file_source_id
LEFT JOIN tracker.zip_version v ON v.za_id = a.id AND v.sha256 = d.version;
COMMENT ON COLUMN tracker.file.unzip_version IS 'version of the rules by which its archive was judged; null where it was not, or that is not known, as where a replay began later';
