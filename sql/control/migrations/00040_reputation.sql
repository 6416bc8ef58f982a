-- +goose Up

-- What fetching from a source has brought of late, by which one of several hostings of a
-- file is chosen. Members of before count nothing here, and choose by their own counts.
CREATE TABLE control.reputation (
  source text PRIMARY KEY,
  address text NOT NULL,
  tries double precision NOT NULL,
  good double precision NOT NULL,
  corrupt double precision NOT NULL,
  bytes double precision NOT NULL,
  seconds double precision NOT NULL,
  measured_at timestamptz NOT NULL);
COMMENT ON TABLE control.reputation IS 'what fetching from a source at its server has brought of late: each further fetch, and time, makes those before count less';
COMMENT ON COLUMN control.reputation.address IS 'of the server where it was measured: at another one it begins anew';
COMMENT ON COLUMN control.reputation.tries IS 'fetches that were judged; each fades by a fiftieth with each further one, and by half in three days';
COMMENT ON COLUMN control.reputation.good IS 'those of them that brought bytes which were not found damaged, faded alike';
COMMENT ON COLUMN control.reputation.corrupt IS 'those of them that brought other bytes than were published: a checksum differed, or the archive was damaged though another hosting was left to ask';
COMMENT ON COLUMN control.reputation.bytes IS 'received by fetches whose time is known, faded alike';
COMMENT ON COLUMN control.reputation.seconds IS 'that these took';
