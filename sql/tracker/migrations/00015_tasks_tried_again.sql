-- +goose Up

-- An attempt that failed is no failure of its task where the session tried the file
-- again: how the last attempt ended counts. So a session's status is its first task
-- that failed.
CREATE OR REPLACE VIEW tracker.session_task AS
WITH attempt AS NOT MATERIALIZED (
  SELECT d.session_id, d.phase_id, d.status_id, d.request, d.received, d.unzipped, d.created, d.last_update, d.status_id = {status failed} AS failed,
    d.status_id = {status failed} AND EXISTS (SELECT FROM tracker.zip_download l
    WHERE l.za_id = d.za_id AND l.run = d.run AND l.attempt > d.attempt AND l.session_id = d.session_id) AS again
  FROM tracker.zip_download d WHERE d.session_id IS NOT NULL),
task AS (
  SELECT session_id, {phase zip_name}::smallint AS phase_id, count(*) AS n, count(*) FILTER (WHERE status_id = {status failed}) AS failed, 0::bigint AS again,
    0::bigint AS open, min(start_time) AS start_time, max(finish_time) AS finish_time, min(created) AS created, max(last_update) AS last_update
  FROM tracker.poll_task GROUP BY session_id
  UNION ALL
  SELECT session_id, {phase download}::smallint, count(*), count(*) FILTER (WHERE failed AND NOT again AND phase_id = {phase download}), count(*) FILTER (WHERE again AND phase_id = {phase download}),
    count(*) FILTER (WHERE phase_id = {phase download} AND status_id < {status done}), min(request), max(received), min(created), max(last_update)
  FROM attempt GROUP BY session_id
  UNION ALL
  SELECT session_id, {phase zip_md5}::smallint, count(*), count(*) FILTER (WHERE failed AND NOT again AND phase_id = {phase zip_md5}), count(*) FILTER (WHERE again AND phase_id = {phase zip_md5}),
    count(*) FILTER (WHERE phase_id = {phase zip_md5} AND status_id < {status done}), min(coalesce(received, last_update)), max(coalesce(received, last_update)), min(created), max(last_update)
  FROM attempt WHERE phase_id >= {phase zip_md5} GROUP BY session_id
  UNION ALL
  SELECT session_id, {phase unzip}::smallint, count(*), count(*) FILTER (WHERE failed AND NOT again AND phase_id = {phase unzip}), count(*) FILTER (WHERE again AND phase_id = {phase unzip}),
    0, min(received), max(unzipped), min(created), max(last_update)
  FROM attempt WHERE received IS NOT NULL GROUP BY session_id
  UNION ALL
  SELECT d.session_id, p.id, count(*), count(*) FILTER (WHERE m.phase_id = p.id AND m.status_id = {status failed}), 0, count(*) FILTER (WHERE m.phase_id = p.id AND m.status_id < {status done}),
    min(m.first_seen), max(m.last_update), min(m.first_seen), max(m.last_update)
  FROM tracker.xml_file m JOIN tracker.zip_download d ON d.id = m.zip_id AND d.accepted = m.outcome
  JOIN tracker.phase p ON p.id BETWEEN {phase xml_name} AND {phase overview} AND m.phase_id >= p.id
  WHERE d.session_id IS NOT NULL GROUP BY d.session_id, p.id)
SELECT task.session_id, task.phase_id, p.short_name AS phase,
  format('%s in all, %s failed, %s open', n, failed, open) || CASE WHEN again > 0 THEN format(', %s tried again', again) ELSE '' END AS comment,
  task.start_time, CASE WHEN open = 0 THEN task.finish_time END AS finish_time,
  CASE WHEN open > 0 THEN NULL WHEN failed > 0 THEN 1 ELSE 0 END::smallint AS status, task.created, task.last_update,
  md5(task.session_id::text || '/' || task.phase_id)::uuid AS id
FROM task JOIN tracker.phase p ON p.id = task.phase_id;
COMMENT ON COLUMN tracker.session_task.comment IS 'how many there were, failed, and are open; and attempts that failed after which the session tried the file again';
COMMENT ON COLUMN tracker.session_task.status IS 'null while open, 0 if it went well in the end, 1 if something failed';
COMMENT ON COLUMN tracker.an_exception.description IS 'what it means, as the program or the profile''s checks say it; null for what they no longer know';
