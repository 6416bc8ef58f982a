-- +goose Up

-- What has been read of each topic, stored with what it caused.
CREATE TABLE control.consumed (
  consumer_group text NOT NULL, topic text NOT NULL, partition int NOT NULL,
  next_offset bigint NOT NULL,
  PRIMARY KEY (consumer_group, topic, partition));
COMMENT ON TABLE control.consumed IS 'next offset to read per consumer group, topic and partition, moved in the transaction that holds the results';

-- Who may act where one must act at a time.
CREATE TABLE control.lease (
  name text PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL, expires_at timestamptz NOT NULL);
COMMENT ON TABLE control.lease IS 'leases with epochs; every write made under one checks its epoch';

CREATE TABLE control.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  events int NOT NULL, packed bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp())
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
ALTER TABLE control.outbox ALTER COLUMN packed SET STORAGE EXTERNAL;
COMMENT ON TABLE control.outbox IS 'events decided in a transaction and not yet acknowledged by the broker';

CREATE TABLE control.centre (
  short_name text PRIMARY KEY,
  full_name text NOT NULL DEFAULT '', email text NOT NULL DEFAULT '', phone text NOT NULL DEFAULT '',
  address text NOT NULL DEFAULT '', imits_name text NOT NULL DEFAULT '',
  active boolean NOT NULL DEFAULT true, revision bigint NOT NULL);
COMMENT ON TABLE control.centre IS 'centres as last announced, to tell what changed in the configuration';

CREATE TABLE control.source (
  id text PRIMARY KEY,
  centre text NOT NULL, server text NOT NULL, protocol text NOT NULL, url text NOT NULL,
  accesskey text NOT NULL DEFAULT '',
  max_sessions int NOT NULL, poll_interval interval NOT NULL,
  state text NOT NULL CHECK (state IN ('available','maintenance','removed','suspended')),
  revision bigint NOT NULL,
  next_due timestamptz NOT NULL DEFAULT '-infinity',
  failures int NOT NULL DEFAULT 0,
  fetched bigint NOT NULL DEFAULT 0, fetch_failures bigint NOT NULL DEFAULT 0);
COMMENT ON TABLE control.source IS 'sources, when each is due, and how well each has served';
COMMENT ON COLUMN control.source.accesskey IS 'reference to a secret, never the secret';

CREATE TABLE control.session (
  id uuid PRIMARY KEY, number bigint NOT NULL UNIQUE,
  once boolean NOT NULL, opened_at timestamptz NOT NULL,
  polls_ended_at timestamptz, end_position bigint, closed_at timestamptz);
CREATE INDEX session_open ON control.session (number) WHERE closed_at IS NULL;
COMMENT ON TABLE control.session IS 'rounds of polling; closed when the warehouse has applied end_position';

CREATE TABLE control.poll (
  id uuid PRIMARY KEY,
  session uuid NOT NULL REFERENCES control.session, source text NOT NULL REFERENCES control.source,
  server text NOT NULL, centre text NOT NULL,
  state text NOT NULL CHECK (state IN ('due','running','complete','broken_off','failed')),
  attempts int NOT NULL DEFAULT 0, not_before timestamptz NOT NULL DEFAULT '-infinity',
  holder text NOT NULL DEFAULT '', epoch bigint NOT NULL DEFAULT 0, lease_until timestamptz,
  started_at timestamptz, ended_at timestamptz,
  exception text NOT NULL DEFAULT '', message text NOT NULL DEFAULT '',
  UNIQUE (session, source));
CREATE INDEX poll_open ON control.poll (server) WHERE state IN ('due','running');
COMMENT ON TABLE control.poll IS 'one listing of one source in one session, taken by lease';

CREATE TABLE control.file (
  id uuid PRIMARY KEY,
  name text NOT NULL, action text NOT NULL, centre text,
  file_date date, file_inc bigint,
  exception text NOT NULL DEFAULT '', message text NOT NULL DEFAULT '',
  current_sha256 text NOT NULL DEFAULT '', current_attempt int NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 0, acceptances int NOT NULL DEFAULT 0);
CREATE INDEX file_rejected ON control.file (name) WHERE exception <> '';
COMMENT ON TABLE control.file IS 'every file ever listed; exception says which rule its name breaks';
COMMENT ON COLUMN control.file.current_sha256 IS 'bytes accepted last, those that the file shows';
COMMENT ON COLUMN control.file.acceptances IS 'how many versions were accepted: the ordinal in a version''s rank';

CREATE TABLE control.hosting (
  source text NOT NULL, file uuid NOT NULL,
  action text NOT NULL, name text NOT NULL,
  look int NOT NULL, size bigint NOT NULL, mtime timestamptz,
  listed_at timestamptz NOT NULL, settled boolean NOT NULL,
  state text NOT NULL CHECK (state IN ('present','gone')), misses int NOT NULL DEFAULT 0,
  PRIMARY KEY (source, file));
CREATE INDEX hosting_file ON control.hosting (file);
COMMENT ON TABLE control.hosting IS 'what the last listing showed of a file at a source';

CREATE TABLE control.look (
  source text NOT NULL, file uuid NOT NULL, look int NOT NULL,
  session uuid, domain text NOT NULL, centre text NOT NULL,
  size bigint NOT NULL, mtime timestamptz, listed_at timestamptz NOT NULL,
  class text NOT NULL CHECK (class IN ('unsettled','announced','waiting','taken','duplicate','superseded','rejected','gone')),
  announced_at timestamptz, event bytea, headers jsonb,
  PRIMARY KEY (source, file, look));
CREATE INDEX look_open ON control.look (session, domain) WHERE class IN ('announced','waiting');
CREATE INDEX look_open_domain ON control.look (domain) WHERE class IN ('announced','waiting');
CREATE INDEX look_open_file ON control.look (file) WHERE class IN ('announced','waiting');
CREATE INDEX look_announced ON control.look (announced_at) WHERE class = 'announced';
CREATE INDEX look_waiting ON control.look (session, domain) WHERE class = 'waiting';
COMMENT ON TABLE control.look IS 'every look ever seen, in exactly one class';
COMMENT ON COLUMN control.look.domain IS 'the file''s producing centre';
COMMENT ON COLUMN control.look.centre IS 'the centre that runs the source';
COMMENT ON COLUMN control.look.event IS 'the announcement, kept until plan has read it, to be repeated if it goes silent';

CREATE TABLE control.batch (
  id uuid PRIMARY KEY,
  session uuid, domain text NOT NULL,
  opened_at timestamptz NOT NULL, number bigint, released_at timestamptz, last_position bigint);
CREATE UNIQUE INDEX batch_of_session ON control.batch (session, domain) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX batch_late_open ON control.batch (domain) WHERE session IS NULL AND released_at IS NULL;
CREATE INDEX batch_open ON control.batch (domain) WHERE released_at IS NULL;
CREATE UNIQUE INDEX batch_number ON control.batch (domain, number);
COMMENT ON TABLE control.batch IS 'what one session found for one domain; a batch without a session is a late one';

CREATE TABLE control.acquisition (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run uuid NOT NULL, file uuid NOT NULL REFERENCES control.file,
  session uuid, domain text NOT NULL, batch uuid REFERENCES control.batch,
  source text NOT NULL, look int NOT NULL, size bigint NOT NULL,
  state text NOT NULL CHECK (state IN ('queued','wanted','requested','received','extracted','ended')),
  not_before timestamptz NOT NULL DEFAULT '-infinity',
  attempt int NOT NULL DEFAULT 0, alone boolean NOT NULL DEFAULT false,
  tried jsonb NOT NULL DEFAULT '{}',
  download text NOT NULL DEFAULT '', unzip text NOT NULL DEFAULT '',
  sha256 text NOT NULL DEFAULT '', documents int NOT NULL DEFAULT 0,
  rank_own boolean, rank_time timestamptz, rank_ordinal int,
  last_event bytea, last_headers jsonb, news_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  repeats int NOT NULL DEFAULT 0,
  result text NOT NULL DEFAULT '', phase text NOT NULL DEFAULT '', exception text NOT NULL DEFAULT '', message text NOT NULL DEFAULT '',
  ended_at timestamptz, retry_at timestamptz, retries int NOT NULL DEFAULT 0);
CREATE INDEX acquisition_file ON control.acquisition (file, id);
CREATE INDEX acquisition_wanted ON control.acquisition (source, not_before, id) WHERE state = 'wanted';
CREATE INDEX acquisition_unended ON control.acquisition (batch) WHERE state <> 'ended';
CREATE INDEX acquisition_open ON control.acquisition (state, news_at) WHERE state IN ('requested','received','extracted');
CREATE INDEX acquisition_batch ON control.acquisition (batch);
CREATE INDEX acquisition_retry ON control.acquisition (retry_at) WHERE retry_at IS NOT NULL;
COMMENT ON TABLE control.acquisition IS 'the file''s process: fetching one look of it, from whatever hosting, until all its documents have ended';
COMMENT ON COLUMN control.acquisition.tried IS 'per source: attempts made, whether it was given up, and which bytes of it were bad';
COMMENT ON COLUMN control.acquisition.alone IS 'to be requested in a job of its own, since a job of several was poison';
COMMENT ON COLUMN control.acquisition.last_event IS 'the last event accepted for it (download.finished), repeated when it goes silent';
COMMENT ON COLUMN control.acquisition.result IS 'complete, duplicate, failed or cancelled, once ended';

CREATE TABLE control.job (
  id uuid PRIMARY KEY, server text NOT NULL, source text NOT NULL,
  remaining int NOT NULL, requested_at timestamptz NOT NULL, news_at timestamptz NOT NULL,
  event bytea NOT NULL, headers jsonb NOT NULL, repeats int NOT NULL DEFAULT 0);
CREATE INDEX job_server ON control.job (server);
COMMENT ON TABLE control.job IS 'outstanding jobs: each holds one credit of its server until its last outcome';

CREATE TABLE control.attempt (
  run uuid NOT NULL, file uuid NOT NULL, attempt int NOT NULL,
  acquisition bigint NOT NULL REFERENCES control.acquisition, source text NOT NULL, look int NOT NULL, job uuid NOT NULL,
  download text NOT NULL DEFAULT '', unzip text NOT NULL DEFAULT '',
  early bytea,
  PRIMARY KEY (file, run, attempt));
COMMENT ON COLUMN control.attempt.early IS 'an unzip.finished that came before the download it belongs to was judged';
COMMENT ON TABLE control.attempt IS 'attempts requested, and the one outcome per step that control accepted';

CREATE TABLE control.document (
  run uuid NOT NULL, file uuid NOT NULL, attempt int NOT NULL, download text NOT NULL, unzip text NOT NULL, document uuid NOT NULL,
  entry text NOT NULL, kind text NOT NULL, doc_date date, doc_inc bigint, sha256 text NOT NULL,
  result text NOT NULL, body bytea NOT NULL,
  PRIMARY KEY (run, file, attempt, download, unzip, document));
COMMENT ON TABLE control.document IS 'documents that have ended before insertion: valid, rejected or quarantined; body is the document.validated event';

CREATE TABLE control.domain (name text PRIMARY KEY, next_number bigint NOT NULL DEFAULT 1);
COMMENT ON TABLE control.domain IS 'the next batch number of each domain';

CREATE TABLE control.operation (
  id uuid PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  what text NOT NULL CHECK (what IN ('unload','reference')),
  domain text NOT NULL DEFAULT '', file text NOT NULL DEFAULT '', action text NOT NULL DEFAULT '', archive text NOT NULL DEFAULT '',
  name text NOT NULL DEFAULT '', blob text NOT NULL DEFAULT '',
  requested_by text NOT NULL, reason text NOT NULL, requested_at timestamptz NOT NULL,
  position bigint, last_position bigint);
CREATE INDEX operation_open ON control.operation (number) WHERE position IS NULL;
COMMENT ON TABLE control.operation IS 'changes of the warehouse that people asked for, put into the order like everything else';
COMMENT ON COLUMN control.operation.number IS 'the order in which they were asked for';
COMMENT ON COLUMN control.operation.what IS 'unload: a version of a file is retracted; reference: a reference table is loaded';
COMMENT ON COLUMN control.operation.domain IS 'of an unload: the file''s producing centre';
COMMENT ON COLUMN control.operation.file IS 'of an unload: the file''s name; of a reference: that of the file loaded';
COMMENT ON COLUMN control.operation.action IS 'of an unload: the file''s action';
COMMENT ON COLUMN control.operation.archive IS 'of an unload: sha256 of the version';
COMMENT ON COLUMN control.operation.name IS 'of a reference: its name';
COMMENT ON COLUMN control.operation.blob IS 'of a reference: sha256 of what is loaded';
COMMENT ON COLUMN control.operation.requested_by IS 'who asked for it';
COMMENT ON COLUMN control.operation.reason IS 'why, as they said';
COMMENT ON COLUMN control.operation.requested_at IS 'when';
COMMENT ON COLUMN control.operation.position IS 'its place in the order, once given';
COMMENT ON COLUMN control.operation.last_position IS 'that of the last batch end that follows it';

CREATE TABLE control.position (singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), next bigint NOT NULL);
INSERT INTO control.position (next) VALUES (1);
COMMENT ON TABLE control.position IS 'the next position of document.ordered: one locked row, so that positions have no gaps';

CREATE TABLE control.counter (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO control.counter VALUES ('session', 0), ('revision', 0);
COMMENT ON TABLE control.counter IS 'numbers given in transactions: sessions, revisions of centres and sources';
