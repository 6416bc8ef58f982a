-- +goose Up

-- Links by which people of a centre see what is theirs, without an account.
CREATE TABLE control.centre_link (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  centre text NOT NULL CHECK (centre <> ''),
  secret bytea NOT NULL UNIQUE CHECK (length(secret) = 32),
  made_by text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  revoked_at timestamptz);
COMMENT ON TABLE control.centre_link IS 'links to a centre''s own view; one that is over is forgotten 90 days later';
COMMENT ON COLUMN control.centre_link.centre IS 'the only centre of which it shows anything';
COMMENT ON COLUMN control.centre_link.secret IS 'SHA-256 of what its address holds';
COMMENT ON COLUMN control.centre_link.used_at IS 'when it was used last, but for less than a minute';
COMMENT ON COLUMN control.account_change.subject IS 'the name of an account, token:NAME, link:WHO MADE IT, or centre-link:NUMBER';
