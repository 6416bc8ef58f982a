-- +goose Up

-- Who may use the pages and the API. Of what is secret a digest stands here, and nothing else.
CREATE TABLE control.account (
  name text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9._@-]{0,63}$'),
  role text NOT NULL CHECK (role IN ('producer', 'reader', 'wrangler', 'operator')),
  centre text NOT NULL DEFAULT '' CHECK ((role = 'producer') = (centre <> '')),
  password text NOT NULL,
  created_at timestamptz NOT NULL,
  disabled_at timestamptz);
COMMENT ON TABLE control.account IS 'people who may log in';
COMMENT ON COLUMN control.account.centre IS 'of a producer, who sees nothing of other centres; empty for other roles';
COMMENT ON COLUMN control.account.password IS 'argon2id of it, with salt and parameters, in PHC''s string format';
COMMENT ON COLUMN control.account.disabled_at IS 'since when nobody logs in with it; null: it can be used';

CREATE TABLE control.account_token (
  name text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9._@-]{0,63}$'),
  role text NOT NULL CHECK (role IN ('producer', 'reader', 'wrangler', 'operator')),
  centre text NOT NULL DEFAULT '' CHECK ((role = 'producer') = (centre <> '')),
  secret bytea NOT NULL UNIQUE CHECK (length(secret) = 32),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  revoked_at timestamptz);
COMMENT ON TABLE control.account_token IS 'programs that may ask; a token that is over is forgotten 90 days later';
COMMENT ON COLUMN control.account_token.secret IS 'SHA-256 of it';
COMMENT ON COLUMN control.account_token.used_at IS 'when it was used last, but for less than a minute';

CREATE TABLE control.account_session (
  secret bytea PRIMARY KEY CHECK (length(secret) = 32),
  account text REFERENCES control.account (name) ON DELETE CASCADE,
  link_role text CHECK (link_role IN ('reader', 'wrangler', 'operator')),
  link_by text NOT NULL DEFAULT '',
  begun_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  CHECK ((account IS NULL) = (link_role IS NOT NULL)));
CREATE INDEX account_session_account ON control.account_session (account, seen_at);
CREATE INDEX account_session_seen ON control.account_session (seen_at);
COMMENT ON TABLE control.account_session IS 'browsers in which somebody is logged in, by an account, whose role counts as it is now, or by a link';
COMMENT ON COLUMN control.account_session.secret IS 'SHA-256 of what the cookie holds';
COMMENT ON COLUMN control.account_session.link_by IS 'who made the link';
COMMENT ON COLUMN control.account_session.seen_at IS 'when it asked last, but for less than a minute';

CREATE TABLE control.account_link (
  secret bytea PRIMARY KEY CHECK (length(secret) = 32),
  role text NOT NULL CHECK (role IN ('reader', 'wrangler', 'operator')),
  made_by text NOT NULL,
  expires_at timestamptz NOT NULL);
COMMENT ON TABLE control.account_link IS 'links that log in once and have not been used';
COMMENT ON COLUMN control.account_link.secret IS 'SHA-256 of it';

CREATE TABLE control.account_change (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  changed_at timestamptz NOT NULL,
  changed_by text NOT NULL,
  subject text NOT NULL,
  what text NOT NULL,
  reason text NOT NULL DEFAULT '');
COMMENT ON TABLE control.account_change IS 'what became of accounts, tokens and links, by whom and why: rows are added and never changed';
COMMENT ON COLUMN control.account_change.subject IS 'the name of an account, token:NAME, or link:WHO MADE IT';
