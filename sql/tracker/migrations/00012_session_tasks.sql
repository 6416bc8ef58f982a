-- +goose Up

-- Every phase in which a session did anything has its row; a checksum that does not
-- fit is no failure of the transfer.
CREATE OR REPLACE VIEW tracker.session_task AS
WITH task AS (
  SELECT session_id, {phase zip_name}::smallint AS phase_id, count(*) AS n, count(*) FILTER (WHERE status_id = {status failed}) AS failed,
    0::bigint AS open, min(start_time) AS start_time, max(finish_time) AS finish_time, min(created) AS created, max(last_update) AS last_update
  FROM tracker.poll_task GROUP BY session_id
  UNION ALL
  SELECT session_id, {phase download}::smallint, count(*), count(*) FILTER (WHERE status_id = {status failed} AND phase_id = {phase download}), count(*) FILTER (WHERE phase_id = {phase download} AND status_id < {status done}),
    min(request), max(received), min(created), max(last_update)
  FROM tracker.zip_download WHERE session_id IS NOT NULL GROUP BY session_id
  UNION ALL
  SELECT session_id, {phase zip_md5}::smallint, count(*), count(*) FILTER (WHERE status_id = {status failed} AND phase_id = {phase zip_md5}), count(*) FILTER (WHERE phase_id = {phase zip_md5} AND status_id < {status done}),
    min(coalesce(received, last_update)), max(coalesce(received, last_update)), min(created), max(last_update)
  FROM tracker.zip_download WHERE session_id IS NOT NULL AND phase_id >= {phase zip_md5} GROUP BY session_id
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

COMMENT ON COLUMN tracker.crawling_session.status IS 'null while it is open, 0 if all its tasks went well, else the phase of the earliest task that had failed when it was closed';
COMMENT ON COLUMN tracker.zip_download.downloaded_size_bytes IS 'bytes received, also by an attempt that failed';
COMMENT ON COLUMN tracker.an_exception.description IS 'what it means; null for findings of data checks, which the profile explains';
