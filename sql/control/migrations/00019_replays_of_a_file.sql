-- +goose Up

-- A file that several replays have chosen is processed by one after the other.
CREATE INDEX replay_item_file ON control.replay_item (file);
