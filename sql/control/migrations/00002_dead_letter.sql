-- +goose Up

-- What people decided about dead letters. The letters themselves stay in Kafka.
CREATE TABLE control.dead_letter (
  id uuid PRIMARY KEY,
  place text NOT NULL,
  stage text NOT NULL, class text NOT NULL, cause text NOT NULL, lineage uuid NOT NULL,
  file uuid, document uuid,
  acquisition bigint REFERENCES control.acquisition, deaths int NOT NULL DEFAULT 0, forced boolean NOT NULL DEFAULT false,
  replayed_at timestamptz, replayed_by text NOT NULL DEFAULT '', replay_reason text NOT NULL DEFAULT '',
  dropped_at timestamptz, dropped_by text NOT NULL DEFAULT '', drop_reason text NOT NULL DEFAULT '');
CREATE INDEX dead_letter_lineage ON control.dead_letter (lineage) WHERE acquisition IS NOT NULL;
CREATE INDEX dead_letter_acquisition ON control.dead_letter (acquisition) WHERE acquisition IS NOT NULL;
COMMENT ON TABLE control.dead_letter IS 'dead letters that somebody decided about: each is replayed once, or dropped; one that is not here is open';
COMMENT ON COLUMN control.dead_letter.id IS 'identity: where the original record was read, and when that was written';
COMMENT ON COLUMN control.dead_letter.place IS 'where the letter lies, as people name it: stage:partition:offset';
COMMENT ON COLUMN control.dead_letter.stage IS 'the stage that gave the record up';
COMMENT ON COLUMN control.dead_letter.class IS 'panic, stalled, crashed, failed or undecodable';
COMMENT ON COLUMN control.dead_letter.cause IS 'the last failure in words';
COMMENT ON COLUMN control.dead_letter.lineage IS 'the same for all letters of a file or document that die at the same stage of the same cause';
COMMENT ON COLUMN control.dead_letter.file IS 'the file concerned, where the record tells';
COMMENT ON COLUMN control.dead_letter.document IS 'the document concerned, where the record is about one';
COMMENT ON COLUMN control.dead_letter.acquisition IS 'the new attempt''s process, once replayed';
COMMENT ON COLUMN control.dead_letter.deaths IS 'how many replays of this lineage had died again when this one was requested';
COMMENT ON COLUMN control.dead_letter.forced IS 'whether the replay was requested although it would have been refused';
COMMENT ON COLUMN control.dead_letter.replayed_at IS 'when the replay was requested';
COMMENT ON COLUMN control.dead_letter.replayed_by IS 'who requested the replay';
COMMENT ON COLUMN control.dead_letter.replay_reason IS 'why, as they said';
COMMENT ON COLUMN control.dead_letter.dropped_at IS 'when it was dropped; nothing is deleted by that';
COMMENT ON COLUMN control.dead_letter.dropped_by IS 'who dropped it';
COMMENT ON COLUMN control.dead_letter.drop_reason IS 'why, as they said';
