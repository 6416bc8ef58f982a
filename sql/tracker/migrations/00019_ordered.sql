-- +goose Up

-- What people have ordered, as each event says that has an author: who, about what, when
-- and why.
CREATE TABLE tracker.ordered (
  id uuid PRIMARY KEY,
  ordered_at timestamptz NOT NULL,
  ordered_by text NOT NULL,
  kind text NOT NULL,
  subject text NOT NULL,
  what text NOT NULL,
  reason text,
  detail text);
CREATE INDEX ON tracker.ordered (ordered_at, id);
CREATE INDEX ON tracker.ordered (ordered_by, ordered_at, id);
CREATE INDEX ON tracker.ordered (kind, ordered_at, id);
COMMENT ON TABLE tracker.ordered IS 'what people have ordered: a row for each event that has an author';
COMMENT ON COLUMN tracker.ordered.id IS 'follows from all that the row says';
COMMENT ON COLUMN tracker.ordered.ordered_at IS 'when';
COMMENT ON COLUMN tracker.ordered.ordered_by IS 'who: an account, token:NAME, or USER@HOST of a command';
COMMENT ON COLUMN tracker.ordered.kind IS 'what it is about: source, centre, file, document, dead_letter, replay, reference or member';
COMMENT ON COLUMN tracker.ordered.subject IS 'which one: its name, of a file and its documents with the action before it, of a replay its number';
COMMENT ON COLUMN tracker.ordered.what IS 'what was ordered';
COMMENT ON COLUMN tracker.ordered.reason IS 'why, as they said';
COMMENT ON COLUMN tracker.ordered.detail IS 'which keys of a definition changed, from what to what; what a replay was to choose';
