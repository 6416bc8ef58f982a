-- +goose Up

CREATE TABLE tracker.replay (
  id uuid PRIMARY KEY, number bigint NOT NULL,
  phase_id smallint REFERENCES tracker.phase ON UPDATE CASCADE ON DELETE RESTRICT,
  status_id smallint NOT NULL REFERENCES tracker.a_status ON UPDATE CASCADE ON DELETE RESTRICT,
  items bigint NOT NULL, predicate text, since timestamptz, until timestamptz, offsets text, rate double precision,
  requested_by text, reason text, requested timestamptz,
  changed_by text, change_reason text, changed timestamptz NOT NULL,
  created timestamptz NOT NULL, last_update timestamptz NOT NULL,
  merge text NOT NULL);
COMMENT ON TABLE tracker.replay IS 'replays: runs that process again what somebody chose; their attempts are among zip_download, with the run';
COMMENT ON COLUMN tracker.replay.id IS 'the run';
COMMENT ON COLUMN tracker.replay.number IS 'its number, from 1';
COMMENT ON COLUMN tracker.replay.phase_id IS 'the phase that it begins with';
COMMENT ON COLUMN tracker.replay.status_id IS 'running, pending while it is stopped, or done';
COMMENT ON COLUMN tracker.replay.items IS 'how many versions of files, or, from data, centres were chosen';
COMMENT ON COLUMN tracker.replay.predicate IS 'the condition that chose them';
COMMENT ON COLUMN tracker.replay.since IS 'only files of which something was heard since then';
COMMENT ON COLUMN tracker.replay.until IS 'only files of which nothing was heard since then';
COMMENT ON COLUMN tracker.replay.offsets IS 'the offsets of the log that chose them';
COMMENT ON COLUMN tracker.replay.rate IS 'files a second at most; null: no limit';
COMMENT ON COLUMN tracker.replay.requested_by IS 'who asked for it';
COMMENT ON COLUMN tracker.replay.reason IS 'why, as they said';
COMMENT ON COLUMN tracker.replay.requested IS 'when';
COMMENT ON COLUMN tracker.replay.changed_by IS 'who started, stopped or resumed it last';
COMMENT ON COLUMN tracker.replay.change_reason IS 'why, as they said';
COMMENT ON COLUMN tracker.replay.changed IS 'when its status changed last';
COMMENT ON COLUMN tracker.replay.created IS 'time of its first event';
COMMENT ON COLUMN tracker.replay.last_update IS 'time of its last event';
COMMENT ON COLUMN tracker.replay.merge IS 'what the tracker remembers in order to merge events that come late';
