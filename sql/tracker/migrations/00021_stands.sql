-- +goose Up

-- Where a file stands is its phase, status and exception together. Postgres, which takes
-- them for independent of each other unless it is told, expected a sixtieth of the files
-- that failed in a phase, and so read and sorted all of them for a page of the newest.
CREATE STATISTICS tracker.zip_action_stands (mcv) ON phase_id, status_id, exception_id FROM tracker.zip_action;
