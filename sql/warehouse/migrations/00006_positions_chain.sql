-- +goose Up

-- What was applied, so that a position that comes again, or one that names
-- another before it, is seen. Members of older programs note nothing.
CREATE TABLE warehouse.chain (
  position bigint PRIMARY KEY, digest bytea NOT NULL CHECK (length(digest) = 32), topic_offset bigint NOT NULL);
COMMENT ON TABLE warehouse.chain IS 'the records of document.ordered that were applied: what proves the order';
COMMENT ON COLUMN warehouse.chain.position IS 'place in the order';
COMMENT ON COLUMN warehouse.chain.digest IS 'SHA-256 of the record''s value';
COMMENT ON COLUMN warehouse.chain.topic_offset IS 'where in the topic it was read';

ALTER TABLE warehouse.state
  ADD COLUMN chain_begin bigint,
  ADD COLUMN chain_broken text NOT NULL DEFAULT '',
  ADD COLUMN chain_broken_at bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN warehouse.state.chain_begin IS 'the first position that names the digest of the one before; null: none was applied yet';
COMMENT ON COLUMN warehouse.state.chain_broken IS 'which records contradict each other, so that insertion has stopped; it holds while chain_broken_at is next_position';
COMMENT ON COLUMN warehouse.state.chain_broken_at IS 'what next_position was when insertion stopped';
