-- +goose Up

-- Of what is judged twice, the first judgement counts. Rows of before don't tell
-- which that was: members fill the tracker again from the log's first record.
TRUNCATE tracker.unreadable, tracker.an_exception, tracker.centre, tracker.file_source, tracker.crawling_session, tracker.poll_task, tracker.batch,
  tracker.zip_file, tracker.zip_action, tracker.file_source_has_zip, tracker.zip_version, tracker.zip_download, tracker.xml_file, tracker.zip_log,
  tracker.xml_log, tracker.replay, tracker.consumed;
