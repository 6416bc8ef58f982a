-- +goose Up

-- An operation that a replay asked for is of its run: by that it is known again
-- when control is restored from what was ordered.
ALTER TABLE control.operation ADD COLUMN run uuid NOT NULL DEFAULT '00000000-0000-5000-8000-000000000000';
UPDATE control.operation o SET run = i.run FROM control.replay_item i WHERE i.operation = o.id;
COMMENT ON COLUMN control.operation.run IS 'of a check: the replay that asked for it; else the live run';

ALTER TABLE control.replay ADD COLUMN lost bigint NOT NULL DEFAULT 0 CHECK (lost >= 0);
COMMENT ON COLUMN control.replay.lost IS 'how many of its items nothing told of when control was restored: they are never requested';

COMMENT ON COLUMN control.replay.state IS 'running; stopped: no more is requested until it is resumed; done: everything chosen has ended, and the warehouse has applied what came of it';

CREATE INDEX batch_replay ON control.batch (run) WHERE run <> '00000000-0000-5000-8000-000000000000';
CREATE INDEX operation_replay ON control.operation (run) WHERE run <> '00000000-0000-5000-8000-000000000000';
