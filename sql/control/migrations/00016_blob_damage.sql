-- +goose Up

-- Blobs that were found damaged or gone, and what became of them.
CREATE TABLE control.blob_damage (
  sha256 text PRIMARY KEY,
  state text NOT NULL CHECK (state IN ('found','fetching','fetched','healed','lost')),
  problem text NOT NULL, found_by text NOT NULL, found_at timestamptz NOT NULL,
  times int NOT NULL DEFAULT 1, not_before timestamptz NOT NULL,
  tried uuid[] NOT NULL DEFAULT '{}', message text NOT NULL DEFAULT '',
  changed_at timestamptz NOT NULL, lost_at timestamptz);
CREATE INDEX blob_damage_due ON control.blob_damage (not_before) WHERE state IN ('found','fetched');
COMMENT ON TABLE control.blob_damage IS 'blobs whose stored bytes were found damaged or gone';
COMMENT ON COLUMN control.blob_damage.state IS 'found: to be fetched again; fetching; fetched: who waits for it is to be told; healed; lost: no source shows these bytes any more';
COMMENT ON COLUMN control.blob_damage.problem IS 'what is wrong with it, in words';
COMMENT ON COLUMN control.blob_damage.found_by IS 'the stage or command that found it last';
COMMENT ON COLUMN control.blob_damage.times IS 'how often it was damaged within a day of being healed: each pause before it is fetched again is twice the one before';
COMMENT ON COLUMN control.blob_damage.not_before IS 'when it may be fetched again';
COMMENT ON COLUMN control.blob_damage.tried IS 'files of which no hosting brought these bytes';
COMMENT ON COLUMN control.blob_damage.message IS 'of a lost one: what was tried last, and what to do';
COMMENT ON COLUMN control.blob_damage.lost_at IS 'when it was lost since it was last looked for';

ALTER TABLE control.acquisition ADD COLUMN heals text NOT NULL DEFAULT '';
COMMENT ON COLUMN control.acquisition.heals IS 'the damaged blob whose bytes it fetches again; it makes no version, whatever it brings; empty: it fetches what is new';
CREATE INDEX acquisition_blob ON control.acquisition (sha256 COLLATE "C", file) WHERE sha256 <> '';
