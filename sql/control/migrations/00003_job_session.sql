-- +goose Up

-- Who works on a job just now. A job holds its credit by itself; this is for
-- the member that begins it, or begins it again, just before its last outcome
-- is read.
CREATE TABLE control.job_session (
  job uuid PRIMARY KEY, session uuid NOT NULL, holder text NOT NULL, server text NOT NULL, lease_until timestamptz NOT NULL);
CREATE INDEX job_session_server ON control.job_session (server);
COMMENT ON TABLE control.job_session IS 'sessions at servers that downloaders have open: each keeps its credit, also once its job has ended, until it is closed or not renewed';
COMMENT ON COLUMN control.job_session.session IS 'the session, of which a job has one at a time';
COMMENT ON COLUMN control.job_session.holder IS 'the member';
