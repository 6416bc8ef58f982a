-- +goose Up

-- Rows that are updated several times leave room for it on their page.
-- Rows of parents are made by their children where these arrive first; the
-- constraints are checked at the end of each transaction.

CREATE TABLE tracker.centre (
  id uuid PRIMARY KEY,
  short_name text NOT NULL UNIQUE,
  full_name text, email text, phone text, address text, imits_name text,
  is_active boolean NOT NULL DEFAULT true,
  created timestamptz, last_update timestamptz,
  revision bigint NOT NULL DEFAULT -1,
  merge text NOT NULL);
COMMENT ON TABLE tracker.centre IS 'institutes that produce data; deactivated rather than deleted';
COMMENT ON COLUMN tracker.centre.id IS 'follows from the short name';
COMMENT ON COLUMN tracker.centre.short_name IS 'short name of the centre (ILAR code)';
COMMENT ON COLUMN tracker.centre.full_name IS 'the centre''s name in full';
COMMENT ON COLUMN tracker.centre.email IS 'e-mail address of its contact';
COMMENT ON COLUMN tracker.centre.phone IS 'with country and area codes';
COMMENT ON COLUMN tracker.centre.address IS 'postal address';
COMMENT ON COLUMN tracker.centre.imits_name IS 'iMits code of the centre';
COMMENT ON COLUMN tracker.centre.is_active IS 'is the centre active';
COMMENT ON COLUMN tracker.centre.created IS 'when it was first announced; null while only its files are known';
COMMENT ON COLUMN tracker.centre.last_update IS 'time of the announcement that counts';
COMMENT ON COLUMN tracker.centre.revision IS 'of the announcement that counts, the greatest; -1 while only its files are known';
COMMENT ON COLUMN tracker.centre.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.file_source (
  id uuid PRIMARY KEY,
  short_name text NOT NULL UNIQUE,
  centre_id uuid REFERENCES tracker.centre ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  protocol_id smallint REFERENCES tracker.source_protocol ON UPDATE CASCADE ON DELETE CASCADE,
  hostname text, username text, accesskey text, base_path text,
  state_id smallint REFERENCES tracker.resource_state ON UPDATE CASCADE ON DELETE CASCADE,
  created timestamptz, last_update timestamptz,
  revision bigint NOT NULL DEFAULT -1,
  merge text NOT NULL);
CREATE INDEX ON tracker.file_source (hostname);
CREATE INDEX ON tracker.file_source (centre_id);
COMMENT ON TABLE tracker.file_source IS 'base paths on servers, run by centres, that host files';
COMMENT ON COLUMN tracker.file_source.id IS 'follows from the short name';
COMMENT ON COLUMN tracker.file_source.short_name IS 'the source''s id in the configuration';
COMMENT ON COLUMN tracker.file_source.centre_id IS 'the centre that runs it';
COMMENT ON COLUMN tracker.file_source.protocol_id IS 'the protocol used by its server';
COMMENT ON COLUMN tracker.file_source.hostname IS 'host and port of its server';
COMMENT ON COLUMN tracker.file_source.username IS 'the user name by which it is accessed';
COMMENT ON COLUMN tracker.file_source.accesskey IS 'reference to the password or key, never the secret';
COMMENT ON COLUMN tracker.file_source.base_path IS 'the directory that holds add, edit and delete';
COMMENT ON COLUMN tracker.file_source.state_id IS 'its state';
COMMENT ON COLUMN tracker.file_source.created IS 'when it was first announced; null while only its files are known';
COMMENT ON COLUMN tracker.file_source.last_update IS 'time of the announcement that counts';
COMMENT ON COLUMN tracker.file_source.revision IS 'of the announcement that counts, the greatest; -1 while only its files are known';
COMMENT ON COLUMN tracker.file_source.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.crawling_session (
  id uuid PRIMARY KEY,
  number bigint, start_time timestamptz, finish_time timestamptz,
  status smallint, note text, created timestamptz, last_update timestamptz,
  merge text NOT NULL);
CREATE INDEX ON tracker.crawling_session (start_time);
COMMENT ON TABLE tracker.crawling_session IS 'rounds of polling and all that follows from them';
COMMENT ON COLUMN tracker.crawling_session.id IS 'the session''s identity in every event';
COMMENT ON COLUMN tracker.crawling_session.number IS 'sessions count from 1';
COMMENT ON COLUMN tracker.crawling_session.start_time IS 'when it was opened';
COMMENT ON COLUMN tracker.crawling_session.finish_time IS 'when it was closed; null while it is open';
COMMENT ON COLUMN tracker.crawling_session.status IS 'null while it is open, 0 if it went well, else the phase of the task that failed';
COMMENT ON COLUMN tracker.crawling_session.note IS 'what was said at its end';
COMMENT ON COLUMN tracker.crawling_session.created IS 'time of its first event';
COMMENT ON COLUMN tracker.crawling_session.last_update IS 'time of its last event';
COMMENT ON COLUMN tracker.crawling_session.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.poll_task (
  id uuid PRIMARY KEY,
  session_id uuid NOT NULL REFERENCES tracker.crawling_session ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  file_source_id uuid REFERENCES tracker.file_source ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  phase_id smallint NOT NULL REFERENCES tracker.phase ON UPDATE CASCADE ON DELETE RESTRICT,
  status_id smallint NOT NULL REFERENCES tracker.a_status ON UPDATE CASCADE ON DELETE RESTRICT,
  exception_id uuid REFERENCES tracker.an_exception ON UPDATE CASCADE ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  message text, start_time timestamptz, finish_time timestamptz,
  counts jsonb NOT NULL DEFAULT '{}', created timestamptz NOT NULL, last_update timestamptz NOT NULL,
  merge text NOT NULL);
CREATE INDEX ON tracker.poll_task (session_id);
CREATE INDEX ON tracker.poll_task (file_source_id, finish_time);
COMMENT ON TABLE tracker.poll_task IS 'polls that ended: one per session and source';
COMMENT ON COLUMN tracker.poll_task.id IS 'follows from session, source and phase';
COMMENT ON COLUMN tracker.poll_task.session_id IS 'the session it belongs to';
COMMENT ON COLUMN tracker.poll_task.file_source_id IS 'the source polled';
COMMENT ON COLUMN tracker.poll_task.phase_id IS 'the phase it serves';
COMMENT ON COLUMN tracker.poll_task.status_id IS 'done or failed';
COMMENT ON COLUMN tracker.poll_task.exception_id IS 'why it failed';
COMMENT ON COLUMN tracker.poll_task.message IS 'what was said about the failure';
COMMENT ON COLUMN tracker.poll_task.start_time IS 'when it began';
COMMENT ON COLUMN tracker.poll_task.finish_time IS 'when it ended';
COMMENT ON COLUMN tracker.poll_task.counts IS 'what it counted: listed, new, changed, gone, ignored';
COMMENT ON COLUMN tracker.poll_task.created IS 'time of its first event';
COMMENT ON COLUMN tracker.poll_task.last_update IS 'time of its last event';
COMMENT ON COLUMN tracker.poll_task.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.batch (
  id uuid PRIMARY KEY,
  centre_id uuid REFERENCES tracker.centre ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
  number bigint NOT NULL, session_id uuid, status_id smallint NOT NULL REFERENCES tracker.a_status ON UPDATE CASCADE ON DELETE RESTRICT,
  documents bigint NOT NULL, start_time timestamptz, finish_time timestamptz, created timestamptz NOT NULL, last_update timestamptz NOT NULL,
  merge text NOT NULL);
CREATE INDEX ON tracker.batch (session_id);
COMMENT ON TABLE tracker.batch IS 'what one session found for one centre, released to be inserted in order';
COMMENT ON COLUMN tracker.batch.id IS 'follows from centre and number';
COMMENT ON COLUMN tracker.batch.centre_id IS 'the producing centre';
COMMENT ON COLUMN tracker.batch.number IS 'a centre''s batches count from 1';
COMMENT ON COLUMN tracker.batch.session_id IS 'the session whose finds it holds; null for a late one';
COMMENT ON COLUMN tracker.batch.status_id IS 'running once released, done once inserted';
COMMENT ON COLUMN tracker.batch.documents IS 'how many documents it holds';
COMMENT ON COLUMN tracker.batch.start_time IS 'when it was released';
COMMENT ON COLUMN tracker.batch.finish_time IS 'when it was inserted';
COMMENT ON COLUMN tracker.batch.created IS 'time of its first event';
COMMENT ON COLUMN tracker.batch.last_update IS 'time of its last event';
COMMENT ON COLUMN tracker.batch.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.zip_file (
  id uuid PRIMARY KEY,
  file_name text NOT NULL UNIQUE,
  centre_id uuid REFERENCES tracker.centre ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
  created date, inc bigint,
  size_bytes bigint, content_md5 text, content_sha256 text, received timestamptz,
  last_update timestamptz NOT NULL,
  merge text NOT NULL);
CREATE INDEX ON tracker.zip_file (centre_id);
COMMENT ON TABLE tracker.zip_file IS 'zip files by name, whatever is asked to be done with them';
COMMENT ON COLUMN tracker.zip_file.id IS 'follows from the name';
COMMENT ON COLUMN tracker.zip_file.file_name IS 'the name of the zip file using the naming convention';
COMMENT ON COLUMN tracker.zip_file.centre_id IS 'which centre produced the data, encoded in the name; null for a name that breaks the convention';
COMMENT ON COLUMN tracker.zip_file.created IS 'when the data file was created, encoded in the name';
COMMENT ON COLUMN tracker.zip_file.inc IS 'file increment number, encoded in the name';
COMMENT ON COLUMN tracker.zip_file.size_bytes IS 'size of the bytes last received under this name';
COMMENT ON COLUMN tracker.zip_file.content_md5 IS 'md5 of the bytes last received under this name';
COMMENT ON COLUMN tracker.zip_file.content_sha256 IS 'sha256 of the bytes last received under this name';
COMMENT ON COLUMN tracker.zip_file.received IS 'when these were received';
COMMENT ON COLUMN tracker.zip_file.last_update IS 'time of the last event about a file of this name';
COMMENT ON COLUMN tracker.zip_file.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.zip_action (
  id uuid PRIMARY KEY,
  zip_id uuid NOT NULL REFERENCES tracker.zip_file ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  todo_id smallint NOT NULL REFERENCES tracker.processing_type ON UPDATE CASCADE ON DELETE RESTRICT,
  phase_id smallint NOT NULL REFERENCES tracker.phase ON UPDATE CASCADE ON DELETE RESTRICT,
  status_id smallint NOT NULL REFERENCES tracker.a_status ON UPDATE CASCADE ON DELETE RESTRICT,
  exception_id uuid REFERENCES tracker.an_exception ON UPDATE CASCADE ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  message text,
  download_id uuid, attempts int NOT NULL,
  created timestamptz NOT NULL, last_update timestamptz NOT NULL,
  merge text NOT NULL,
  UNIQUE (zip_id, todo_id))
  WITH (fillfactor = 85);
CREATE INDEX ON tracker.zip_action (phase_id, status_id, created);
CREATE INDEX ON tracker.zip_action (exception_id) WHERE exception_id IS NOT NULL;
COMMENT ON TABLE tracker.zip_action IS 'files: a name and what is to be done with it. Where each stands';
COMMENT ON COLUMN tracker.zip_action.id IS 'the file''s identity in every event: follows from name and action';
COMMENT ON COLUMN tracker.zip_action.zip_id IS 'the zip file to be processed';
COMMENT ON COLUMN tracker.zip_action.todo_id IS 'how to process it';
COMMENT ON COLUMN tracker.zip_action.phase_id IS 'its current phase: that of the attempt it shows, else its own';
COMMENT ON COLUMN tracker.zip_action.status_id IS 'how that phase stands';
COMMENT ON COLUMN tracker.zip_action.exception_id IS 'why it failed: its own reason, else that of its first failed document';
COMMENT ON COLUMN tracker.zip_action.message IS 'what was said about the failure';
COMMENT ON COLUMN tracker.zip_action.download_id IS 'the attempt it shows: the latest, or the one that the latest repeats; null before any';
COMMENT ON COLUMN tracker.zip_action.attempts IS 'attempts to fetch it so far, without those that were never begun';
COMMENT ON COLUMN tracker.zip_action.created IS 'time of its first event';
COMMENT ON COLUMN tracker.zip_action.last_update IS 'time of its last event, downloads and documents included';
COMMENT ON COLUMN tracker.zip_action.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.file_source_has_zip (
  id uuid PRIMARY KEY,
  za_id uuid NOT NULL REFERENCES tracker.zip_action ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  file_source_id uuid NOT NULL REFERENCES tracker.file_source ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  num_retries int NOT NULL,
  look int NOT NULL, state text, size_bytes bigint, mod_time timestamptz, listed_at timestamptz,
  note text, created timestamptz NOT NULL, last_update timestamptz NOT NULL,
  merge text NOT NULL,
  UNIQUE (za_id, file_source_id))
  WITH (fillfactor = 85);
CREATE INDEX ON tracker.file_source_has_zip (file_source_id);
COMMENT ON TABLE tracker.file_source_has_zip IS 'hostings: which source shows which file';
COMMENT ON COLUMN tracker.file_source_has_zip.id IS 'follows from file and source';
COMMENT ON COLUMN tracker.file_source_has_zip.za_id IS 'the file';
COMMENT ON COLUMN tracker.file_source_has_zip.file_source_id IS 'the source hosting it';
COMMENT ON COLUMN tracker.file_source_has_zip.num_retries IS 'number of attempts to fetch it from here after the first';
COMMENT ON COLUMN tracker.file_source_has_zip.look IS 'ordinal of the latest look, from 1; 0 while none is known';
COMMENT ON COLUMN tracker.file_source_has_zip.state IS 'present or gone; null while no look is known';
COMMENT ON COLUMN tracker.file_source_has_zip.size_bytes IS 'size as listed';
COMMENT ON COLUMN tracker.file_source_has_zip.mod_time IS 'modification time as listed';
COMMENT ON COLUMN tracker.file_source_has_zip.listed_at IS 'when this look was first listed';
COMMENT ON COLUMN tracker.file_source_has_zip.note IS 'unsettled, duplicate, superseded, divergent_hosting';
COMMENT ON COLUMN tracker.file_source_has_zip.created IS 'time of its first event';
COMMENT ON COLUMN tracker.file_source_has_zip.last_update IS 'time of its last event';
COMMENT ON COLUMN tracker.file_source_has_zip.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.zip_version (
  id uuid PRIMARY KEY,
  za_id uuid NOT NULL REFERENCES tracker.zip_action ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  sha256 text NOT NULL, content_md5 text, size_bytes bigint,
  received timestamptz NOT NULL, last_update timestamptz NOT NULL,
  merge text NOT NULL,
  UNIQUE (za_id, sha256));
CREATE INDEX ON tracker.zip_version (sha256);
COMMENT ON TABLE tracker.zip_version IS 'the bytes received under a file''s name, by hash: one row per re-upload';
COMMENT ON COLUMN tracker.zip_version.id IS 'follows from file and hash';
COMMENT ON COLUMN tracker.zip_version.za_id IS 'the file';
COMMENT ON COLUMN tracker.zip_version.sha256 IS 'the hash that names the version';
COMMENT ON COLUMN tracker.zip_version.content_md5 IS 'md5 of the same bytes';
COMMENT ON COLUMN tracker.zip_version.size_bytes IS 'size of the version';
COMMENT ON COLUMN tracker.zip_version.received IS 'when it was first received';
COMMENT ON COLUMN tracker.zip_version.last_update IS 'when it was last received';
COMMENT ON COLUMN tracker.zip_version.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.zip_download (
  id uuid PRIMARY KEY,
  za_id uuid NOT NULL REFERENCES tracker.zip_action ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  zf_id uuid REFERENCES tracker.file_source_has_zip ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  run uuid NOT NULL, attempt int NOT NULL, repeats int, session_id uuid,
  phase_id smallint NOT NULL REFERENCES tracker.phase ON UPDATE CASCADE ON DELETE RESTRICT,
  status_id smallint NOT NULL REFERENCES tracker.a_status ON UPDATE CASCADE ON DELETE RESTRICT,
  exception_id uuid REFERENCES tracker.an_exception ON UPDATE CASCADE ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  message text, note text, accepted text,
  version text, content_md5 text, size_bytes bigint,
  look int, downloaded_size_bytes bigint NOT NULL DEFAULT 0,
  request timestamptz, started timestamptz, received timestamptz, unzipped timestamptz,
  documents int, documents_known int NOT NULL, documents_open int NOT NULL, documents_failed int NOT NULL,
  created timestamptz NOT NULL, last_update timestamptz NOT NULL,
  merge text NOT NULL,
  UNIQUE (za_id, run, attempt))
  WITH (fillfactor = 85);
CREATE INDEX ON tracker.zip_download (zf_id);
CREATE INDEX ON tracker.zip_download (session_id);
CREATE INDEX ON tracker.zip_download (received);
COMMENT ON TABLE tracker.zip_download IS 'attempts to fetch a file from a hosting, and what became of them';
COMMENT ON COLUMN tracker.zip_download.id IS 'follows from file, run and attempt';
COMMENT ON COLUMN tracker.zip_download.za_id IS 'the file';
COMMENT ON COLUMN tracker.zip_download.zf_id IS 'the hosting it is fetched from';
COMMENT ON COLUMN tracker.zip_download.run IS 'the run: the live one, or a replay';
COMMENT ON COLUMN tracker.zip_download.attempt IS 'number of the attempt, as plan counts';
COMMENT ON COLUMN tracker.zip_download.repeats IS 'the attempt whose bytes it brought again';
COMMENT ON COLUMN tracker.zip_download.session_id IS 'the session that it belongs to';
COMMENT ON COLUMN tracker.zip_download.phase_id IS 'its own phase, or that of its documents: the earliest that failed, else the least advanced';
COMMENT ON COLUMN tracker.zip_download.status_id IS 'how that phase stands';
COMMENT ON COLUMN tracker.zip_download.exception_id IS 'why it failed: its own reason, else that of its first failed document';
COMMENT ON COLUMN tracker.zip_download.message IS 'what was said about the failure';
COMMENT ON COLUMN tracker.zip_download.note IS 'no_checksum, matched, duplicate';
COMMENT ON COLUMN tracker.zip_download.accepted IS 'the outcome that control accepted: of the download, a slash, of the unzip';
COMMENT ON COLUMN tracker.zip_download.version IS 'sha256 of the bytes received';
COMMENT ON COLUMN tracker.zip_download.content_md5 IS 'md5 of the bytes received';
COMMENT ON COLUMN tracker.zip_download.size_bytes IS 'size as listed when it was requested';
COMMENT ON COLUMN tracker.zip_download.look IS 'the look of the hosting that it fetches';
COMMENT ON COLUMN tracker.zip_download.downloaded_size_bytes IS 'bytes received so far';
COMMENT ON COLUMN tracker.zip_download.request IS 'when it was requested';
COMMENT ON COLUMN tracker.zip_download.started IS 'when the transfer began';
COMMENT ON COLUMN tracker.zip_download.received IS 'when the complete file was received';
COMMENT ON COLUMN tracker.zip_download.unzipped IS 'when its last entry was checked';
COMMENT ON COLUMN tracker.zip_download.documents IS 'how many documents it holds; null until that is known';
COMMENT ON COLUMN tracker.zip_download.documents_known IS 'of these, how many are here';
COMMENT ON COLUMN tracker.zip_download.documents_open IS 'of these, how many have not ended';
COMMENT ON COLUMN tracker.zip_download.documents_failed IS 'of these, how many have failed';
COMMENT ON COLUMN tracker.zip_download.created IS 'time of its first event';
COMMENT ON COLUMN tracker.zip_download.last_update IS 'time of its last event, without its documents''';
COMMENT ON COLUMN tracker.zip_download.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.xml_file (
  id uuid PRIMARY KEY,
  zip_id uuid NOT NULL REFERENCES tracker.zip_download ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  outcome text NOT NULL, document_id uuid, fname text NOT NULL, ordinal int NOT NULL,
  centre_id uuid REFERENCES tracker.centre ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
  created date, inc bigint, kind text,
  size_bytes bigint, content_md5 text, content_sha256 text,
  phase_id smallint NOT NULL REFERENCES tracker.phase ON UPDATE CASCADE ON DELETE RESTRICT,
  status_id smallint NOT NULL REFERENCES tracker.a_status ON UPDATE CASCADE ON DELETE RESTRICT,
  exception_id uuid REFERENCES tracker.an_exception ON UPDATE CASCADE ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  message text, errors_total int NOT NULL, checked int NOT NULL,
  rows_loaded bigint, position bigint, session_id uuid,
  first_seen timestamptz NOT NULL, last_update timestamptz NOT NULL,
  merge text NOT NULL)
  WITH (fillfactor = 85);
CREATE INDEX ON tracker.xml_file (zip_id, outcome);
CREATE INDEX ON tracker.xml_file (fname);
CREATE INDEX ON tracker.xml_file (created);
CREATE INDEX ON tracker.xml_file (exception_id) WHERE exception_id IS NOT NULL;
COMMENT ON TABLE tracker.xml_file IS 'documents of downloads; those of an outcome that control did not accept are kept and not shown';
COMMENT ON COLUMN tracker.xml_file.id IS 'follows from download, outcome and entry';
COMMENT ON COLUMN tracker.xml_file.zip_id IS 'the download it came with';
COMMENT ON COLUMN tracker.xml_file.outcome IS 'the outcome of download and unzip that it descends from';
COMMENT ON COLUMN tracker.xml_file.document_id IS 'the document''s identity in every event: follows from file and entry';
COMMENT ON COLUMN tracker.xml_file.fname IS 'the name of the document using the naming convention';
COMMENT ON COLUMN tracker.xml_file.ordinal IS 'its place in the zip, from 0';
COMMENT ON COLUMN tracker.xml_file.centre_id IS 'which centre produced the data, encoded in the name';
COMMENT ON COLUMN tracker.xml_file.created IS 'when the data were created, encoded in the name';
COMMENT ON COLUMN tracker.xml_file.inc IS 'increment number, encoded in the name';
COMMENT ON COLUMN tracker.xml_file.kind IS 'what the document holds, encoded in the name';
COMMENT ON COLUMN tracker.xml_file.size_bytes IS 'size in bytes';
COMMENT ON COLUMN tracker.xml_file.content_md5 IS 'md5 of its bytes';
COMMENT ON COLUMN tracker.xml_file.content_sha256 IS 'sha256 of its bytes';
COMMENT ON COLUMN tracker.xml_file.phase_id IS 'its current phase';
COMMENT ON COLUMN tracker.xml_file.status_id IS 'how that phase stands';
COMMENT ON COLUMN tracker.xml_file.exception_id IS 'why it failed';
COMMENT ON COLUMN tracker.xml_file.message IS 'what was said about the failure';
COMMENT ON COLUMN tracker.xml_file.errors_total IS 'errors found, those beyond the cap included';
COMMENT ON COLUMN tracker.xml_file.checked IS 'number of the latest data check; 0 before any';
COMMENT ON COLUMN tracker.xml_file.rows_loaded IS 'rows that it brought to the warehouse';
COMMENT ON COLUMN tracker.xml_file.position IS 'its position in the order of insertion';
COMMENT ON COLUMN tracker.xml_file.session_id IS 'the session that it belongs to';
COMMENT ON COLUMN tracker.xml_file.first_seen IS 'time of its first event';
COMMENT ON COLUMN tracker.xml_file.last_update IS 'time of its last event';
COMMENT ON COLUMN tracker.xml_file.merge IS 'what the tracker remembers in order to merge events that come late';

CREATE TABLE tracker.zip_log (
  id uuid PRIMARY KEY,
  zip_id uuid NOT NULL REFERENCES tracker.zip_download ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  exception_id uuid NOT NULL REFERENCES tracker.an_exception ON UPDATE CASCADE ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  message text, phase_id smallint NOT NULL REFERENCES tracker.phase ON UPDATE CASCADE ON DELETE RESTRICT,
  status_id smallint NOT NULL REFERENCES tracker.a_status ON UPDATE CASCADE ON DELETE RESTRICT,
  outcome text NOT NULL, judged boolean NOT NULL, last_update timestamptz NOT NULL);
CREATE INDEX ON tracker.zip_log (zip_id);
CREATE INDEX ON tracker.zip_log (exception_id);
COMMENT ON TABLE tracker.zip_log IS 'why downloads failed or were cancelled';
COMMENT ON COLUMN tracker.zip_log.id IS 'follows from download, outcome and who says so';
COMMENT ON COLUMN tracker.zip_log.zip_id IS 'the download';
COMMENT ON COLUMN tracker.zip_log.exception_id IS 'the exception that ended it';
COMMENT ON COLUMN tracker.zip_log.message IS 'details specific to the file';
COMMENT ON COLUMN tracker.zip_log.phase_id IS 'the phase that ended so';
COMMENT ON COLUMN tracker.zip_log.status_id IS 'failed or cancelled';
COMMENT ON COLUMN tracker.zip_log.outcome IS 'the outcome that ended so; what control did not accept is kept';
COMMENT ON COLUMN tracker.zip_log.judged IS 'whether this is control''s judgement of the file rather than the stage''s report';
COMMENT ON COLUMN tracker.zip_log.last_update IS 'time of the last event that says so';

CREATE TABLE tracker.xml_log (
  id uuid PRIMARY KEY,
  xml_id uuid NOT NULL REFERENCES tracker.xml_file ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  exception_id uuid NOT NULL REFERENCES tracker.an_exception ON UPDATE CASCADE ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  ordinal int NOT NULL, line int, col int, message text, last_update timestamptz NOT NULL);
CREATE INDEX ON tracker.xml_log (xml_id);
CREATE INDEX ON tracker.xml_log (exception_id);
COMMENT ON TABLE tracker.xml_log IS 'every error of a document, up to the cap; xml_file.errors_total counts all';
COMMENT ON COLUMN tracker.xml_log.id IS 'follows from document and ordinal';
COMMENT ON COLUMN tracker.xml_log.xml_id IS 'the document';
COMMENT ON COLUMN tracker.xml_log.exception_id IS 'the kind of error';
COMMENT ON COLUMN tracker.xml_log.ordinal IS 'errors count from 0, sorted by position';
COMMENT ON COLUMN tracker.xml_log.line IS 'line number, from 1; null where it has none';
COMMENT ON COLUMN tracker.xml_log.col IS 'column number on the line, from 1; null where it has none';
COMMENT ON COLUMN tracker.xml_log.message IS 'details specific to the document';
COMMENT ON COLUMN tracker.xml_log.last_update IS 'time of the event that reported it';
