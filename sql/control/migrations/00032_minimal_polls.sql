-- +goose Up

-- Between complete polls a source may be polled minimally: directories whose own time
-- says that nothing has come are not listed. An older member does not know the key of
-- the definition that asks for that, and polls no such source.
ALTER TABLE control.poll DROP CONSTRAINT poll_state_check,
  ADD CONSTRAINT poll_state_check CHECK (state IN ('due', 'running', 'complete', 'minimal', 'broken_off', 'failed'));
ALTER TABLE control.source ADD COLUMN directories jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN control.source.directories IS 'what minimal polls go by: when the last complete poll was, and of each directory its time, and what was listed of it; {}: the next poll is complete';
