-- +goose Up

-- Processes that run roles say here that they do, and read here what people ask of
-- them: none opens a port for it.
CREATE TABLE control.member (
  id text PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 300),
  roles text[] NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  stopped_at timestamptz);
COMMENT ON TABLE control.member IS 'processes that run roles; those that are over are forgotten a week later';
COMMENT ON COLUMN control.member.id IS 'host, process and start, as leases name their holders';
COMMENT ON COLUMN control.member.seen_at IS 'when it said last that it runs, every few seconds: one that has long been silent is gone';
COMMENT ON COLUMN control.member.stopped_at IS 'when it stopped in order; null: it runs, or is gone';

CREATE TABLE control.member_request (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  member text NOT NULL REFERENCES control.member ON DELETE CASCADE,
  verb text NOT NULL CHECK (verb IN ('stat', 'get', 'set', 'stop')),
  key text NOT NULL DEFAULT '' CHECK (length(key) <= 100),
  value text NOT NULL DEFAULT '' CHECK (length(value) <= 100),
  asked_by text NOT NULL,
  reason text NOT NULL DEFAULT '' CHECK (length(reason) <= 1000),
  asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  answered_at timestamptz,
  answer jsonb,
  refused text NOT NULL DEFAULT '');
CREATE INDEX member_request_open ON control.member_request (member, number) WHERE answered_at IS NULL;
CREATE INDEX member_request_member ON control.member_request (member, asked_at);
COMMENT ON TABLE control.member_request IS 'what people ask of members, for a day';
COMMENT ON COLUMN control.member_request.expires_at IS 'from when on nobody waits for the answer: it is not given, and nothing is changed';
COMMENT ON COLUMN control.member_request.answer IS 'rows of a name, a value and where it is from; 256 KiB at most';
COMMENT ON COLUMN control.member_request.refused IS 'why it is not done; empty: it is';
