-- +goose Up

-- Which polls of a source found something, which of these left something that belongs to
-- what is found next, and which saw all of it: in their order, and so that their times need
-- no look at the polls themselves.
CREATE INDEX poll_task_found_idx ON tracker.poll_task (file_source_id, finish_time)
  WHERE counts->>'new' ~ '^[1-9][0-9]{0,17}$' OR counts->>'changed' ~ '^[1-9][0-9]{0,17}$';
CREATE INDEX poll_task_left_idx ON tracker.poll_task (file_source_id, finish_time)
  WHERE (counts->>'new' ~ '^[1-9][0-9]{0,17}$' OR counts->>'changed' ~ '^[1-9][0-9]{0,17}$')
    AND (counts->>'postponed' ~ '^[1-9][0-9]{0,17}$' OR counts->>'end' = 'broken_off');
CREATE INDEX poll_task_complete_idx ON tracker.poll_task (file_source_id, finish_time)
  WHERE status_id = {status done} AND counts->>'end' IS DISTINCT FROM 'minimal';
DROP INDEX tracker.poll_task_finds_idx;
