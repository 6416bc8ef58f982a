-- +goose Up

CREATE VIEW tracker.file AS
SELECT a.id, z.file_name AS file, t.short_name AS action, d.version, c.short_name AS centre, s.short_name AS source,
  p.short_name AS phase, st.short_name AS status, x.short_name AS exception, a.message, a.attempts,
  CASE WHEN a.phase_id > {phase zip_name} OR a.status_id <> {status failed}
    THEN coalesce(v.size_bytes, d.size_bytes, (SELECT max(h.size_bytes) FROM tracker.file_source_has_zip h WHERE h.za_id = a.id)) END AS size_bytes,
  d.version AS sha256, d.content_md5 AS md5, z.created, z.inc, a.phase_id, a.status_id, a.download_id, d.attempt, d.run, d.session_id,
  d.documents, d.documents_known, d.documents_open, d.documents_failed, a.created AS first_seen, a.last_update,
  CASE WHEN a.status_id IN ({status cancelled}, {status failed}) THEN coalesce(d.documents_open, 0) = 0
       WHEN d.note LIKE '%duplicate%' AND d.repeats IS NULL THEN true
       ELSE a.phase_id >= {phase overview} AND a.status_id = {status done} END AS ended
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
COMMENT ON VIEW tracker.file IS 'where every file stands: one row per name and action';

CREATE VIEW tracker.document AS
SELECT m.id, m.fname AS document, z.file_name AS file, t.short_name AS action, d.version, c.short_name AS centre,
  p.short_name AS phase, st.short_name AS status, x.short_name AS exception, m.message, m.errors_total,
  m.kind, m.created, m.inc, m.size_bytes, m.content_sha256 AS sha256, m.ordinal, m.rows_loaded, m.position, m.checked,
  m.phase_id, m.status_id, a.id AS file_id, d.id AS download_id, d.session_id, m.first_seen, m.last_update
FROM tracker.zip_action a
JOIN tracker.zip_download d ON d.id = a.download_id
JOIN tracker.xml_file m ON m.zip_id = d.id AND m.outcome = d.accepted
JOIN tracker.zip_file z ON z.id = a.zip_id
JOIN tracker.processing_type t ON t.id = a.todo_id
JOIN tracker.phase p ON p.id = m.phase_id
JOIN tracker.a_status st ON st.id = m.status_id
LEFT JOIN tracker.centre c ON c.id = z.centre_id
LEFT JOIN tracker.an_exception x ON x.id = m.exception_id;
COMMENT ON VIEW tracker.document IS 'where every document stands that is shown: those of the accepted outcome of the attempt that its file shows';

CREATE VIEW tracker.document_error AS
SELECT l.xml_id, d.document, d.file, d.action, d.centre, l.ordinal, l.line, l.col AS "column", x.short_name AS exception, l.message
FROM tracker.document d JOIN tracker.xml_log l ON l.xml_id = d.id JOIN tracker.an_exception x ON x.id = l.exception_id;
COMMENT ON VIEW tracker.document_error IS 'every error of the documents shown, up to the cap';

CREATE VIEW tracker.source AS
SELECT s.id, s.short_name AS source, c.short_name AS centre, p.short_name AS protocol, s.hostname, s.username, s.base_path, r.short_name AS state,
  (SELECT count(*) FROM tracker.file_source_has_zip h WHERE h.file_source_id = s.id AND h.state = 'present') AS files,
  t.finish_time AS last_poll, ts.short_name AS last_poll_status, x.short_name AS exception, t.message, t.counts
FROM tracker.file_source s
LEFT JOIN tracker.centre c ON c.id = s.centre_id
LEFT JOIN tracker.source_protocol p ON p.id = s.protocol_id
LEFT JOIN tracker.resource_state r ON r.id = s.state_id
LEFT JOIN LATERAL (SELECT * FROM tracker.poll_task k WHERE k.file_source_id = s.id ORDER BY k.finish_time DESC NULLS LAST, k.id LIMIT 1) t ON true
LEFT JOIN tracker.a_status ts ON ts.id = t.status_id
LEFT JOIN tracker.an_exception x ON x.id = t.exception_id;
COMMENT ON VIEW tracker.source IS 'sources, what they show, and how their last poll ended';

-- What a session did in each phase spans partitions, so it is computed when
-- asked for.
CREATE VIEW tracker.session_task AS
WITH task AS (
  SELECT session_id, {phase zip_name}::smallint AS phase_id, count(*) AS n, count(*) FILTER (WHERE status_id = {status failed}) AS failed,
    0::bigint AS open, min(start_time) AS start_time, max(finish_time) AS finish_time, min(created) AS created, max(last_update) AS last_update
  FROM tracker.poll_task GROUP BY session_id
  UNION ALL
  SELECT session_id, {phase download}::smallint, count(*), count(*) FILTER (WHERE status_id = {status failed} AND phase_id IN ({phase download}, {phase zip_md5})), count(*) FILTER (WHERE phase_id = {phase download} AND status_id < {status done}),
    min(request), max(received), min(created), max(last_update)
  FROM tracker.zip_download WHERE session_id IS NOT NULL GROUP BY session_id
  UNION ALL
  SELECT session_id, {phase unzip}::smallint, count(*), count(*) FILTER (WHERE status_id = {status failed} AND phase_id = {phase unzip}), 0,
    min(received), max(unzipped), min(created), max(last_update)
  FROM tracker.zip_download WHERE session_id IS NOT NULL AND received IS NOT NULL GROUP BY session_id
  UNION ALL
  SELECT d.session_id, p.id, count(*), count(*) FILTER (WHERE m.phase_id = p.id AND m.status_id = {status failed}), count(*) FILTER (WHERE m.phase_id = p.id AND m.status_id < {status done}),
    min(m.first_seen), max(m.last_update), min(m.first_seen), max(m.last_update)
  FROM tracker.xml_file m JOIN tracker.zip_download d ON d.id = m.zip_id AND d.accepted = m.outcome
  JOIN tracker.phase p ON p.id BETWEEN {phase xml_name} AND {phase overview} AND m.phase_id >= p.id
  WHERE d.session_id IS NOT NULL GROUP BY d.session_id, p.id)
SELECT task.session_id, task.phase_id, p.short_name AS phase,
  format('%s in all, %s failed, %s open', n, failed, open) AS comment,
  task.start_time, CASE WHEN open = 0 THEN task.finish_time END AS finish_time,
  CASE WHEN open > 0 THEN NULL WHEN failed > 0 THEN 1 ELSE 0 END::smallint AS status, task.created, task.last_update
FROM task JOIN tracker.phase p ON p.id = task.phase_id;
COMMENT ON VIEW tracker.session_task IS 'what each session did in each phase: one row per session and phase, its counts in comment; status is null while open, 0 if it went well, 1 if something failed';
