-- +goose Up

-- A refused login suspends a source sooner than a lost connection. An older member
-- counts no classes: where they are more together than failed_polls, they count anew.
ALTER TABLE control.source ADD COLUMN failed_classes jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN control.source.failed_classes IS 'how many of failed_polls failed with errors of which class (poll.suspend_sooner); it means nothing where failed_polls is 0';
