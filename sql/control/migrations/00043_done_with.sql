-- +goose Up

-- What is done at sources with files that are inserted.
ALTER TABLE control.hosting DROP CONSTRAINT hosting_state_check;
ALTER TABLE control.hosting ADD CONSTRAINT hosting_state_check CHECK (state IN ('present','gone','done_with')) NOT VALID;
ALTER TABLE control.hosting ADD COLUMN shown_until bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN control.hosting.state IS 'present; gone, say complete listings; or done_with: we have taken it away there, or are about to, so that it is lacking says nothing';
COMMENT ON COLUMN control.hosting.shown_until IS 'of one that is done with: the number of the last session whose polls may have listed it before that';

ALTER TABLE control.source ADD COLUMN acts text NOT NULL DEFAULT '', ADD COLUMN acts_said text NOT NULL DEFAULT '';
COMMENT ON COLUMN control.source.acts_said IS 'who has ordered that, and why';
COMMENT ON COLUMN control.source.acts IS 'what a person has ordered to be done there with files that are inserted, and at which url; where the definition says something else, it is only shown what would be done';

CREATE TABLE control.done_with (
  source text NOT NULL, file uuid NOT NULL, look int NOT NULL, rule text NOT NULL,
  state text NOT NULL CHECK (state IN ('due','acting','shown','left','done')),
  tries int NOT NULL DEFAULT 0, told int NOT NULL DEFAULT 0, not_before timestamptz NOT NULL DEFAULT '-infinity',
  at timestamptz NOT NULL, exception text NOT NULL DEFAULT '', message text NOT NULL DEFAULT '',
  PRIMARY KEY (source, file));
CREATE INDEX done_with_open ON control.done_with (source, not_before) WHERE state IN ('due','acting');
COMMENT ON TABLE control.done_with IS 'files that are inserted, at sources that define done_with: what is, was or would be done there';
COMMENT ON COLUMN control.done_with.look IS 'the look that was inserted: another is left alone';
COMMENT ON COLUMN control.done_with.rule IS 'done_with of the source';
COMMENT ON COLUMN control.done_with.state IS 'due: to be looked at; acting: it may be done at any moment, or is; shown: it would be done; left: it is not, the exception says why; done';
COMMENT ON COLUMN control.done_with.tries IS 'how often it was begun';
COMMENT ON COLUMN control.done_with.told IS 'how many events told of it';

CREATE TABLE control.done_with_visit (
  source text PRIMARY KEY REFERENCES control.source,
  visit uuid NOT NULL, holder text NOT NULL, lease_until timestamptz NOT NULL);
COMMENT ON TABLE control.done_with_visit IS 'who acts at a source, one at a time; its credit is a row of control.job_session with the visit as its job';
