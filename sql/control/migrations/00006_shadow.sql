-- +goose Up

-- Shadow runs: replays whose results are compared with the live ones and change
-- none of them. Their ids are UUIDs of version 8, and no others are.
CREATE FUNCTION control.is_shadow(run uuid) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN substr(run::text, 15, 1) = '8';
COMMENT ON FUNCTION control.is_shadow IS 'whether the run of that id is a shadow: nothing of it goes into a batch, and nothing live begins with what it has';

ALTER TABLE control.replay
  ADD COLUMN shadow text NOT NULL DEFAULT '',
  ADD COLUMN promotes uuid UNIQUE REFERENCES control.replay,
  ADD COLUMN versions jsonb,
  ADD CONSTRAINT replay_shadow_check CHECK ((shadow <> '') = control.is_shadow(id)),
  ADD CONSTRAINT replay_promotes_check CHECK (promotes IS NULL OR shadow = '' AND control.is_shadow(promotes));
CREATE UNIQUE INDEX replay_shadow ON control.replay (shadow) WHERE shadow <> '';
COMMENT ON COLUMN control.replay.shadow IS 'name of the shadow that its results go to; empty: they are live';
COMMENT ON COLUMN control.replay.promotes IS 'the shadow whose results it makes live; a shadow is promoted once';
COMMENT ON COLUMN control.replay.versions IS 'versions of what judges and loads documents when it was asked for; null if it was before those were known';

-- The last guard: what is wrong above it fails instead of reaching the order.
ALTER TABLE control.acquisition ADD CONSTRAINT acquisition_shadow_check CHECK (batch IS NULL OR NOT control.is_shadow(run));
ALTER TABLE control.batch ADD CONSTRAINT batch_shadow_check CHECK (NOT control.is_shadow(run));
