-- +goose Up

-- Two names of one server share its sessions: a source may say under which name
-- its own are counted. Where that changes, what is outstanding of it at its address
-- is counted under the new name, and what is outstanding elsewhere stays.
ALTER TABLE control.source ADD COLUMN address text NOT NULL DEFAULT '';
ALTER TABLE control.job ADD COLUMN address text NOT NULL DEFAULT '';
ALTER TABLE control.poll ADD COLUMN address text NOT NULL DEFAULT '';
ALTER TABLE control.job_session ADD COLUMN source text NOT NULL DEFAULT '', ADD COLUMN address text NOT NULL DEFAULT '';
COMMENT ON COLUMN control.source.server IS 'under which name its sessions are counted: its own key server, else its address';
COMMENT ON COLUMN control.source.address IS 'host and port; empty: server says them';
COMMENT ON COLUMN control.job.address IS 'of its source when it was requested; empty: server says it';
COMMENT ON COLUMN control.poll.address IS 'of its source when it was taken; empty: server says it';
COMMENT ON COLUMN control.job_session.source IS 'of its job; empty: the job had ended, or an older program holds the session';
COMMENT ON COLUMN control.job_session.address IS 'of its job';
