-- +goose Up

-- A session that ran out and was taken over belonged to a member that died, or
-- was cut off, while it worked on the job. Work that has seen several such deaths
-- is not detached from its partition any more, where deaths are counted.
ALTER TABLE control.job_session ADD COLUMN deaths integer NOT NULL DEFAULT 0 CHECK (deaths >= 0);
COMMENT ON COLUMN control.job_session.deaths IS 'how many sessions of the job ran out before they were ended, and were followed by another';
