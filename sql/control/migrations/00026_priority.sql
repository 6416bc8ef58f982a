-- +goose Up

-- A source's priority follows from its definition. Members of before give jobs in turns
-- of their own and write nothing here: what they give isn't counted.
CREATE TABLE control.turn (
  source text PRIMARY KEY,
  server text NOT NULL,
  turn bigint NOT NULL,
  jobs bigint NOT NULL);
COMMENT ON TABLE control.turn IS 'when sources were last given a job at their server; written under the lock of the credit only';
COMMENT ON COLUMN control.turn.turn IS 'of its last job, on the server''s clock, which each job moves on: the next is due 2520 / (priority + 1) later';
COMMENT ON COLUMN control.turn.jobs IS 'how many it was given: every tenth goes to what waits longest';

-- What was never tried goes first, then what has failed before, then replays.
-- +goose StatementBegin
CREATE FUNCTION control.lane(run uuid, retries integer, exception text, message text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN run <> '00000000-0000-5000-8000-000000000000' THEN 2 WHEN retries > 0 OR exception <> '' OR message <> '' THEN 1 ELSE 0 END;
-- +goose StatementEnd
COMMENT ON FUNCTION control.lane IS 'in which order a source''s wanted files are requested: 0 what was never tried, 1 what has failed before, 2 replays';
CREATE INDEX acquisition_lane ON control.acquisition (source, control.lane(run, retries, exception, message), not_before, id) WHERE state = 'wanted';
