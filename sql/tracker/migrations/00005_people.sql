-- +goose Up

ALTER TABLE tracker.an_exception ADD COLUMN last_update timestamptz;
COMMENT ON COLUMN tracker.an_exception.last_update IS 'time of the first event that named it; null where the rows could not tell when the column was added: a rebuild knows';
-- As near as the rows tell; a rebuild knows.
UPDATE tracker.an_exception AS x SET last_update = (
  SELECT min(t) FROM (
    SELECT min(last_update) FROM tracker.xml_log WHERE exception_id = x.id
    UNION ALL SELECT min(last_update) FROM tracker.zip_log WHERE exception_id = x.id
    UNION ALL SELECT min(last_update) FROM tracker.poll_task WHERE exception_id = x.id
    UNION ALL SELECT min(last_update) FROM tracker.zip_action WHERE exception_id = x.id AND isfinite(last_update)) AS seen (t));

CREATE VIEW tracker.late AS
SELECT f.id, f.file, f.action, f.centre, f.source, f.phase, f.status,
  CASE
    WHEN f.status_id IN ({status cancelled}, {status failed}) THEN format('%s of its other documents have not ended', f.documents_open)
    WHEN f.phase_id = {phase zip_name} AND EXISTS (SELECT FROM tracker.file_source_has_zip h WHERE h.za_id = f.id AND h.state = 'present' AND h.note = 'unsettled')
      THEN 'waits until it has looked the same for long enough'
    WHEN f.phase_id = {phase zip_name} AND NOT EXISTS (SELECT FROM tracker.file_source_has_zip h WHERE h.za_id = f.id AND h.state = 'present') THEN 'no source shows it now'
    WHEN f.phase_id = {phase zip_name} OR (f.phase_id = {phase download} AND f.download_id IS NULL) THEN 'waits to be fetched'
    WHEN f.phase_id = {phase download} AND f.status_id = {status pending} THEN 'requested; waits for download'
    WHEN f.phase_id = {phase download} AND f.status_id = {status running} THEN 'is being fetched'
    WHEN f.phase_id < {phase unzip} OR (f.phase_id = {phase unzip} AND f.status_id = {status pending}) THEN 'fetched; waits for unzip'
    WHEN f.phase_id = {phase unzip} AND f.status_id = {status running} THEN 'is being unzipped'
    WHEN f.phase_id = {phase unzip} AND f.documents_known < f.documents THEN format('%s of its %s documents have not been heard of', f.documents - f.documents_known, f.documents)
    WHEN f.phase_id = {phase unzip} THEN 'unzipped; waits for its documents'
    ELSE format('%s of its %s documents have not ended', f.documents_open, f.documents)
  END AS waits_for,
  f.first_seen, f.last_update, s.number AS session, s.finish_time AS session_closed
FROM tracker.file f LEFT JOIN tracker.crawling_session s ON s.id = f.session_id
WHERE NOT f.ended
ORDER BY f.last_update, f.file COLLATE "C", f.action;
COMMENT ON VIEW tracker.late IS 'what is late: files that have not ended, those without news for longest first, and what each waits for';
COMMENT ON COLUMN tracker.late.waits_for IS 'what has to happen next';
COMMENT ON COLUMN tracker.late.first_seen IS 'time of the file''s first event';
COMMENT ON COLUMN tracker.late.last_update IS 'time of its last event, documents included';
COMMENT ON COLUMN tracker.late.session IS 'number of the session that fetched it; null before an attempt';
COMMENT ON COLUMN tracker.late.session_closed IS 'when that session was closed, without it if it is not null';

CREATE VIEW tracker.failure AS
SELECT 'poll' AS what, NULL AS file, NULL AS action, NULL AS document, c.short_name AS centre, s.short_name AS source, p.short_name AS phase, x.short_name AS exception,
  t.message, NULL::int AS line, NULL::int AS "column", 1 AS errors, coalesce(t.finish_time, t.last_update) AS failed, t.session_id, NULL::uuid AS file_id, NULL::uuid AS document_id
FROM tracker.poll_task t
JOIN tracker.phase p ON p.id = t.phase_id
LEFT JOIN tracker.file_source s ON s.id = t.file_source_id
LEFT JOIN tracker.centre c ON c.id = s.centre_id
LEFT JOIN tracker.an_exception x ON x.id = t.exception_id
WHERE t.status_id = {status failed}
UNION ALL
SELECT 'file', f.file, f.action, NULL, f.centre, f.source, f.phase, f.exception, f.message, NULL, NULL, 1,
  coalesce((SELECT max(l.last_update) FROM tracker.zip_log l WHERE l.zip_id = f.download_id AND l.status_id = {status failed}), f.last_update), f.session_id, f.id, NULL
FROM tracker.file f WHERE f.status_id = {status failed} AND f.phase_id < {phase xml_name}
UNION ALL
SELECT 'document', d.file, d.action, d.document, d.centre, (SELECT f.source FROM tracker.file f WHERE f.id = d.file_id), d.phase, d.exception,
  coalesce(l.message, d.message), l.line, l.col, d.errors_total, coalesce(l.last_update, d.last_update), d.session_id, d.file_id, d.id
FROM tracker.document d
LEFT JOIN LATERAL (SELECT g.* FROM tracker.xml_log g WHERE g.xml_id = d.id ORDER BY g.ordinal LIMIT 1) l ON true
WHERE d.status_id = {status failed};
COMMENT ON VIEW tracker.failure IS 'what failed and why: polls, files and the documents shown, each with its exception; tracker.document_error has every error of a document';
COMMENT ON COLUMN tracker.failure.what IS 'poll, file or document';
COMMENT ON COLUMN tracker.failure.message IS 'what was said about it; of a document about its first error';
COMMENT ON COLUMN tracker.failure.line IS 'line of a document''s first error, from 1';
COMMENT ON COLUMN tracker.failure."column" IS 'column of a document''s first error, from 1';
COMMENT ON COLUMN tracker.failure.errors IS 'errors found, those beyond the cap included';
COMMENT ON COLUMN tracker.failure.failed IS 'time of the event that says so';

CREATE VIEW tracker.session AS
SELECT s.id, s.number, s.start_time, s.finish_time,
  CASE WHEN s.status IS NULL THEN 'open' WHEN s.status = 0 THEN 'done' ELSE 'failed' END AS state, p.short_name AS failed_phase, s.note,
  t.polls, t.polls_failed, d.files, d.files_failed, d.bytes, d.documents, d.documents_failed, d.documents_open, b.batches, b.batches_open
FROM tracker.crawling_session s
LEFT JOIN tracker.phase p ON p.id = s.status
CROSS JOIN LATERAL (SELECT count(*) AS polls, count(*) FILTER (WHERE k.status_id = {status failed}) AS polls_failed FROM tracker.poll_task k WHERE k.session_id = s.id) t
CROSS JOIN LATERAL (SELECT count(*) AS files, count(*) FILTER (WHERE z.status_id = {status failed} AND z.phase_id < {phase xml_name}) AS files_failed,
  coalesce(sum(z.downloaded_size_bytes), 0)::bigint AS bytes, coalesce(sum(z.documents), 0)::bigint AS documents,
  coalesce(sum(z.documents_failed), 0)::bigint AS documents_failed, coalesce(sum(z.documents_open), 0)::bigint AS documents_open
  FROM tracker.zip_download z WHERE z.session_id = s.id) d
CROSS JOIN LATERAL (SELECT count(*) AS batches, count(*) FILTER (WHERE r.status_id < {status done}) AS batches_open FROM tracker.batch r WHERE r.session_id = s.id) b;
COMMENT ON VIEW tracker.session IS 'what each session did, in one row; tracker.session_task has it by phase';
COMMENT ON COLUMN tracker.session.state IS 'open, done or failed';
COMMENT ON COLUMN tracker.session.failed_phase IS 'the phase of the task that failed';
COMMENT ON COLUMN tracker.session.polls IS 'sources polled';
COMMENT ON COLUMN tracker.session.files IS 'attempts to fetch a file';
COMMENT ON COLUMN tracker.session.files_failed IS 'of these, how many failed before there were documents';
COMMENT ON COLUMN tracker.session.bytes IS 'bytes received';
COMMENT ON COLUMN tracker.session.documents IS 'documents in what was fetched, as far as known';
COMMENT ON COLUMN tracker.session.documents_open IS 'of these, how many have not ended';
COMMENT ON COLUMN tracker.session.batches IS 'batches released, one per centre';

-- The parent's tasks have an id.
CREATE OR REPLACE VIEW tracker.session_task AS
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
  CASE WHEN open > 0 THEN NULL WHEN failed > 0 THEN 1 ELSE 0 END::smallint AS status, task.created, task.last_update,
  md5(task.session_id::text || '/' || task.phase_id)::uuid AS id
FROM task JOIN tracker.phase p ON p.id = task.phase_id;
COMMENT ON COLUMN tracker.session_task.id IS 'follows from session and phase';
COMMENT ON COLUMN tracker.session_task.session_id IS 'the session';
COMMENT ON COLUMN tracker.session_task.phase_id IS 'the task: what was done in this phase';
COMMENT ON COLUMN tracker.session_task.phase IS 'its short name';
COMMENT ON COLUMN tracker.session_task.comment IS 'how many there were, failed, and are open';
COMMENT ON COLUMN tracker.session_task.start_time IS 'when the first of them began';
COMMENT ON COLUMN tracker.session_task.finish_time IS 'when the last of them ended; null while some are open';
COMMENT ON COLUMN tracker.session_task.status IS 'null while open, 0 if it went well, 1 if something failed';
COMMENT ON COLUMN tracker.session_task.created IS 'time of its first event';
COMMENT ON COLUMN tracker.session_task.last_update IS 'time of its last event';
