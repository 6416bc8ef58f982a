-- +goose Up

-- Replays: runs that process again what somebody chose. What is chosen is
-- written down once, when it is asked for, so that a replay can be stopped,
-- killed and resumed, and never finds what it has itself produced.
CREATE TABLE control.replay (
  id uuid PRIMARY KEY, number bigint NOT NULL UNIQUE CHECK (number > 0),
  phase text NOT NULL CHECK (phase IN ('download','unzip','xsd','upload','data')),
  predicate text NOT NULL DEFAULT '', since timestamptz, until timestamptz, offsets text NOT NULL DEFAULT '',
  rate double precision NOT NULL DEFAULT 0 CHECK (rate >= 0),
  requested_by text NOT NULL, reason text NOT NULL, requested_at timestamptz NOT NULL,
  state text NOT NULL CHECK (state IN ('running','stopped','done')),
  changed_by text NOT NULL, changed_at timestamptz NOT NULL, changes int NOT NULL DEFAULT 0,
  paced_at timestamptz NOT NULL);
CREATE INDEX replay_running ON control.replay (number) WHERE state = 'running';
COMMENT ON TABLE control.replay IS 'replays: runs that process again what somebody chose';
COMMENT ON COLUMN control.replay.id IS 'the run, as every event of it carries it';
COMMENT ON COLUMN control.replay.number IS 'the run''s number, from 1; of two runs of one version the higher counts';
COMMENT ON COLUMN control.replay.phase IS 'where it begins: download (fetch again), unzip (stored bytes), xsd (documents known), upload (verdicts known) or data (checks only)';
COMMENT ON COLUMN control.replay.predicate IS 'what chose the files: a condition on a view of the tracker';
COMMENT ON COLUMN control.replay.since IS 'only files whose last event is not older';
COMMENT ON COLUMN control.replay.until IS 'only files whose last event is older';
COMMENT ON COLUMN control.replay.offsets IS 'what chose the files: offsets of a topic';
COMMENT ON COLUMN control.replay.rate IS 'files requested a second at most; 0: no limit but that on what is under way';
COMMENT ON COLUMN control.replay.requested_by IS 'who asked for it';
COMMENT ON COLUMN control.replay.reason IS 'why, as they said';
COMMENT ON COLUMN control.replay.requested_at IS 'when';
COMMENT ON COLUMN control.replay.state IS 'running; stopped: no more is requested until it is resumed; done: everything chosen has ended';
COMMENT ON COLUMN control.replay.changed_by IS 'who started, stopped or resumed it last';
COMMENT ON COLUMN control.replay.changed_at IS 'when its state changed last';
COMMENT ON COLUMN control.replay.changes IS 'how often its state has changed';
COMMENT ON COLUMN control.replay.paced_at IS 'up to when its rate has been used';

CREATE TABLE control.replay_item (
  run uuid NOT NULL REFERENCES control.replay, ordinal bigint NOT NULL,
  file uuid, archive text NOT NULL DEFAULT '', domain text NOT NULL DEFAULT '',
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting','requested','refused')),
  not_before timestamptz NOT NULL DEFAULT 'epoch',
  acquisition bigint REFERENCES control.acquisition, operation uuid REFERENCES control.operation,
  refusal text NOT NULL DEFAULT '', message text NOT NULL DEFAULT '',
  PRIMARY KEY (run, ordinal));
CREATE INDEX replay_item_waiting ON control.replay_item (run, not_before, ordinal) WHERE state = 'waiting';
COMMENT ON TABLE control.replay_item IS 'what a replay processes again: versions of files, or, from data, centres';
COMMENT ON COLUMN control.replay_item.run IS 'the replay';
COMMENT ON COLUMN control.replay_item.ordinal IS 'its place among those of the replay, from 1';
COMMENT ON COLUMN control.replay_item.file IS 'the file';
COMMENT ON COLUMN control.replay_item.archive IS 'sha256 of the version; empty for a file of which nothing was ever fetched';
COMMENT ON COLUMN control.replay_item.domain IS 'from data: the centre whose records are judged again';
COMMENT ON COLUMN control.replay_item.state IS 'waiting; requested: how it fares says its acquisition or operation; refused';
COMMENT ON COLUMN control.replay_item.not_before IS 'not to be looked at before: its file was under way';
COMMENT ON COLUMN control.replay_item.acquisition IS 'the new attempt''s process, once requested';
COMMENT ON COLUMN control.replay_item.operation IS 'from data: the operation, once requested';
COMMENT ON COLUMN control.replay_item.refusal IS 'why it is not replayed, as a name: gone, no_version, …';
COMMENT ON COLUMN control.replay_item.message IS 'the same in words';

INSERT INTO control.counter VALUES ('replay', 0);

-- A replay has late batches of its own.
ALTER TABLE control.batch ADD COLUMN run uuid NOT NULL DEFAULT '00000000-0000-5000-8000-000000000000';
COMMENT ON COLUMN control.batch.run IS 'the run: the live one, or of a late batch a replay';
DROP INDEX control.batch_late_open;
CREATE UNIQUE INDEX batch_late_open ON control.batch (domain, run) WHERE session IS NULL AND released_at IS NULL;

CREATE INDEX acquisition_replay ON control.acquisition (run, state) WHERE run <> '00000000-0000-5000-8000-000000000000';

ALTER TABLE control.operation DROP CONSTRAINT operation_what_check;
ALTER TABLE control.operation ADD CONSTRAINT operation_what_check CHECK (what IN ('unload','reference','check'));
COMMENT ON COLUMN control.operation.what IS 'unload: a version of a file is retracted; reference: a reference table is loaded; check: a centre''s records are judged again';
COMMENT ON COLUMN control.operation.domain IS 'of an unload: the file''s producing centre; of a check: the centre';
