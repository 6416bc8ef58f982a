-- +goose Up

-- What is kept for who reads the pages: when they looked last, and what they ask again
-- and again. A person is an account, link:WHO MADE IT, or token:NAME.
CREATE TABLE control.visit (
  person text PRIMARY KEY,
  seen_at timestamptz NOT NULL,
  before timestamptz);
CREATE INDEX visit_seen ON control.visit (seen_at);
COMMENT ON TABLE control.visit IS 'when people looked at where everything stands';
COMMENT ON COLUMN control.visit.seen_at IS 'the last time, but for less than a minute';
COMMENT ON COLUMN control.visit.before IS 'the end of the visit before this one; null: this is the first';

CREATE TABLE control.kept_question (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person text NOT NULL,
  slot int NOT NULL CHECK (slot BETWEEN 1 AND 50),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  kind text NOT NULL CHECK (kind IN ('files', 'documents', 'recipe', 'sql')),
  about text NOT NULL DEFAULT '' CHECK (length(about) <= 100),
  asks text NOT NULL CHECK (octet_length(asks) <= 16384),
  kept_at timestamptz NOT NULL,
  UNIQUE (person, slot),
  UNIQUE (person, name));
COMMENT ON TABLE control.kept_question IS 'questions that people have given a name';
COMMENT ON COLUMN control.kept_question.slot IS 'of a person''s, of which there are so many';
COMMENT ON COLUMN control.kept_question.about IS 'a recipe''s name, or the store of a statement; empty for lists';
COMMENT ON COLUMN control.kept_question.asks IS 'filters or parameters, as an address has them; or a statement';
