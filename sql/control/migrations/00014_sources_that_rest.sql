-- +goose Up

-- A source whose polls keep failing is suspended, and a poll that has not ended
-- when the next is due is an overrun.
ALTER TABLE control.source
  ADD COLUMN failed_polls int NOT NULL DEFAULT 0,
  ADD COLUMN failing_since timestamptz,
  ADD COLUMN suspended_at timestamptz,
  ADD COLUMN suspended_why text NOT NULL DEFAULT '',
  ADD COLUMN overruns bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN control.source.failures IS 'polls in a row that were not complete: they lengthen the pause before the next';
COMMENT ON COLUMN control.source.failed_polls IS 'polls in a row that showed nothing at all: poll.suspend_after of them, over poll.probe_interval, suspend it';
COMMENT ON COLUMN control.source.failing_since IS 'when the first of them ended; without a meaning where there are none';
COMMENT ON COLUMN control.source.suspended_at IS 'since when it is suspended; null while it is not';
COMMENT ON COLUMN control.source.suspended_why IS 'why it is suspended';
COMMENT ON COLUMN control.source.overruns IS 'how often a poll of it had not ended when the next was due';

ALTER TABLE control.poll ADD COLUMN postponed bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN control.poll.postponed IS 'new and changed files that it showed beyond poll.max_new, left to the next polls';
