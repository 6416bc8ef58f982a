-- +goose Up

ALTER TABLE control.replay ADD COLUMN held text NOT NULL DEFAULT '';
COMMENT ON COLUMN control.replay.held IS 'why the last member that looked at it requested nothing of it, and other members may; empty: nothing keeps it';
