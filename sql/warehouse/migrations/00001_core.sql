-- +goose Up

-- How far insertion has come: one row.
CREATE TABLE warehouse.state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  next_position bigint NOT NULL, next_offset bigint NOT NULL, epoch bigint NOT NULL);
INSERT INTO warehouse.state (next_position, next_offset, epoch) VALUES (1, 0, 0);
COMMENT ON TABLE warehouse.state IS 'how far the order of documents has been applied: one row, changed in the transaction that holds what was applied';
COMMENT ON COLUMN warehouse.state.one IS 'always true: there is one row';
COMMENT ON COLUMN warehouse.state.next_position IS 'the position to be applied next; every lower one is applied, but for batch ends that are due';
COMMENT ON COLUMN warehouse.state.next_offset IS 'where in the topic document.ordered to read on';
COMMENT ON COLUMN warehouse.state.epoch IS 'epoch of the lease under which the last change was made';

CREATE TABLE warehouse.try (
  position bigint PRIMARY KEY, tries int NOT NULL);
COMMENT ON TABLE warehouse.try IS 'positions at which a member has begun, and how often, to find what crashes it; cleared by progress and by a clean stop';
COMMENT ON COLUMN warehouse.try.position IS 'the position';
COMMENT ON COLUMN warehouse.try.tries IS 'how often work on it was begun without an end';

CREATE TABLE warehouse.lease (
  name text PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL, expires_at timestamptz NOT NULL);
COMMENT ON TABLE warehouse.lease IS 'who may act where one must act at a time';
COMMENT ON COLUMN warehouse.lease.name IS 'what the lease allows';
COMMENT ON COLUMN warehouse.lease.holder IS 'host, process and role';
COMMENT ON COLUMN warehouse.lease.epoch IS 'given once; every write checks it';
COMMENT ON COLUMN warehouse.lease.expires_at IS 'by this database''s clock';

CREATE TABLE warehouse.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  events int NOT NULL, packed bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp())
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
ALTER TABLE warehouse.outbox ALTER COLUMN packed SET STORAGE EXTERNAL;
COMMENT ON TABLE warehouse.outbox IS 'events caused here and not yet acknowledged by the broker';
COMMENT ON COLUMN warehouse.outbox.id IS 'the order in which they are published';
COMMENT ON COLUMN warehouse.outbox.events IS 'how many the row holds';
COMMENT ON COLUMN warehouse.outbox.packed IS 'topic, key, value and headers of each, compressed together (s2)';
COMMENT ON COLUMN warehouse.outbox.created_at IS 'for people who look at a backlog';

-- Batch ends are worked off beside the loading of what follows them.
CREATE TABLE warehouse.batch_end (
  position bigint PRIMARY KEY, centre text NOT NULL, event text NOT NULL, trace text NOT NULL, ordered jsonb NOT NULL);
COMMENT ON TABLE warehouse.batch_end IS 'batch ends that have been reached and are due: checks, context and overview of their centres';
COMMENT ON COLUMN warehouse.batch_end.position IS 'its place in the order';
COMMENT ON COLUMN warehouse.batch_end.centre IS 'the centre, of which nothing that follows is applied before';
COMMENT ON COLUMN warehouse.batch_end.event IS 'id of the event that ordered it';
COMMENT ON COLUMN warehouse.batch_end.trace IS 'trace context of that event';
COMMENT ON COLUMN warehouse.batch_end.ordered IS 'what that event says';

-- One row per document that the order names, loaded or not.
CREATE TABLE warehouse.document (
  position bigint PRIMARY KEY,
  event text NOT NULL,
  run text NOT NULL, run_number bigint NOT NULL, session text NOT NULL, source text NOT NULL,
  batch text NOT NULL, centre text NOT NULL, number bigint NOT NULL, late boolean NOT NULL,
  file text NOT NULL, file_name text NOT NULL, action text NOT NULL, file_date text NOT NULL, file_inc bigint NOT NULL,
  document text NOT NULL, entry text NOT NULL, entry_ordinal int NOT NULL,
  kind text NOT NULL, doc_centre text NOT NULL, doc_date text NOT NULL, doc_inc bigint NOT NULL,
  archive text NOT NULL, archive_offset bigint NOT NULL, packed bigint NOT NULL, method int NOT NULL, crc32 bigint NOT NULL,
  size bigint NOT NULL, sha256 text NOT NULL, md5 text NOT NULL,
  rank text COLLATE "C" NOT NULL, version_key text COLLATE "C" NOT NULL,
  attempt int NOT NULL, download text NOT NULL, unzip text NOT NULL, profile text NOT NULL,
  state text NOT NULL CHECK (state IN ('loaded', 'failed')),
  phase text NOT NULL, exception text NOT NULL,
  rows bigint NOT NULL,
  withdrawn boolean NOT NULL DEFAULT false);
CREATE INDEX document_file ON warehouse.document (file, entry);
CREATE INDEX document_batch ON warehouse.document (batch);
COMMENT ON TABLE warehouse.document IS 'every document that the order names: what it is, which version of its file it came in, and what became of it';
COMMENT ON COLUMN warehouse.document.position IS 'its place in the order, which names it in all other tables';
COMMENT ON COLUMN warehouse.document.event IS 'id of the event that ordered it';
COMMENT ON COLUMN warehouse.document.run IS 'the live run, or a replay';
COMMENT ON COLUMN warehouse.document.run_number IS '0 for the live run; replays count from 1';
COMMENT ON COLUMN warehouse.document.session IS 'the session that found it';
COMMENT ON COLUMN warehouse.document.source IS 'the source that it was fetched from';
COMMENT ON COLUMN warehouse.document.batch IS 'the batch that it was ordered in';
COMMENT ON COLUMN warehouse.document.centre IS 'the centre that produced its file, which is the batch''s domain';
COMMENT ON COLUMN warehouse.document.number IS 'of the batch within its domain';
COMMENT ON COLUMN warehouse.document.late IS 'whether the batch is a late one';
COMMENT ON COLUMN warehouse.document.file IS 'identity of the file: action and name';
COMMENT ON COLUMN warehouse.document.file_name IS 'the zip''s name';
COMMENT ON COLUMN warehouse.document.action IS 'add, edit or delete';
COMMENT ON COLUMN warehouse.document.file_date IS 'YYYY-MM-DD, of the file''s name';
COMMENT ON COLUMN warehouse.document.file_inc IS 'increment of the file''s name';
COMMENT ON COLUMN warehouse.document.document IS 'identity of the document: file and entry';
COMMENT ON COLUMN warehouse.document.entry IS 'the entry''s name in the archive';
COMMENT ON COLUMN warehouse.document.entry_ordinal IS 'the entry''s place in the archive, from 0';
COMMENT ON COLUMN warehouse.document.kind IS 'the profile''s kind';
COMMENT ON COLUMN warehouse.document.doc_centre IS 'the centre in the document''s name';
COMMENT ON COLUMN warehouse.document.doc_date IS 'YYYY-MM-DD, of the document''s name';
COMMENT ON COLUMN warehouse.document.doc_inc IS 'increment of the document''s name';
COMMENT ON COLUMN warehouse.document.archive IS 'sha256 of the archive: the version';
COMMENT ON COLUMN warehouse.document.archive_offset IS 'of the packed bytes in the archive';
COMMENT ON COLUMN warehouse.document.packed IS 'packed size in bytes';
COMMENT ON COLUMN warehouse.document.method IS 'zip''s compression method';
COMMENT ON COLUMN warehouse.document.crc32 IS 'checksum of the bytes';
COMMENT ON COLUMN warehouse.document.size IS 'in bytes';
COMMENT ON COLUMN warehouse.document.sha256 IS 'of the bytes';
COMMENT ON COLUMN warehouse.document.md5 IS 'of the bytes';
COMMENT ON COLUMN warehouse.document.rank IS 'the version''s rank among those of its file, sortable: own source, time first listed, ordinal, hash';
COMMENT ON COLUMN warehouse.document.version_key IS 'what decides which claim on a key is current, sortable';
COMMENT ON COLUMN warehouse.document.attempt IS 'the download that brought it';
COMMENT ON COLUMN warehouse.document.download IS 'outcome of the download';
COMMENT ON COLUMN warehouse.document.unzip IS 'outcome of the unzip';
COMMENT ON COLUMN warehouse.document.profile IS 'the profile and version that it was judged by';
COMMENT ON COLUMN warehouse.document.state IS 'loaded, or failed: it has no rows then';
COMMENT ON COLUMN warehouse.document.phase IS 'where it failed; upload if it is loaded';
COMMENT ON COLUMN warehouse.document.exception IS 'why it failed';
COMMENT ON COLUMN warehouse.document.rows IS 'rows loaded from it';
COMMENT ON COLUMN warehouse.document.withdrawn IS 'whether a withdrawal holds for it: none of its claims counts then';

-- Apart from the documents, whose rows are wide and otherwise stay as they are.
CREATE TABLE warehouse.data_check (
  position bigint PRIMARY KEY, checks int NOT NULL);
COMMENT ON TABLE warehouse.data_check IS 'how often the data of each document was checked';
COMMENT ON COLUMN warehouse.data_check.position IS 'of the document';
COMMENT ON COLUMN warehouse.data_check.checks IS 'number of the last check';

-- What completed versions withdraw, for as long as they are not unloaded.
CREATE TABLE warehouse.withdrawal (
  position bigint NOT NULL,
  file text NOT NULL, entry text NOT NULL DEFAULT '', what text NOT NULL CHECK (what IN ('loaded', 'failed', 'lacks')),
  rank text COLLATE "C" NOT NULL, run_number bigint NOT NULL, archive text NOT NULL,
  PRIMARY KEY (position, entry));
CREATE INDEX withdrawal_file ON warehouse.withdrawal (file, entry);
COMMENT ON TABLE warehouse.withdrawal IS 'what complete versions of files withdraw; it stays, and a lower version that comes later falls under it; what an unloaded version withdrew does not count';
COMMENT ON COLUMN warehouse.withdrawal.position IS 'place in the order of the version''s completion';
COMMENT ON COLUMN warehouse.withdrawal.file IS 'the file';
COMMENT ON COLUMN warehouse.withdrawal.entry IS 'the document concerned; empty for lacks';
COMMENT ON COLUMN warehouse.withdrawal.what IS 'loaded: lower versions and runs of the entry are withdrawn; failed: lower runs of the same version; lacks: lower versions of every entry that this version does not have';
COMMENT ON COLUMN warehouse.withdrawal.rank IS 'the version';
COMMENT ON COLUMN warehouse.withdrawal.run_number IS 'the run that completed it';
COMMENT ON COLUMN warehouse.withdrawal.archive IS 'sha256 of the version''s archive';

-- Versions that people have retracted, for good.
CREATE TABLE warehouse.unload (
  position bigint PRIMARY KEY, file text NOT NULL, archive text NOT NULL);
CREATE INDEX unload_file ON warehouse.unload (file, archive);
COMMENT ON TABLE warehouse.unload IS 'versions of files that were retracted: their documents, also those that come later, are withdrawn, and what they withdrew is not';
COMMENT ON COLUMN warehouse.unload.position IS 'place in the order';
COMMENT ON COLUMN warehouse.unload.file IS 'the file';
COMMENT ON COLUMN warehouse.unload.archive IS 'sha256 of the version''s archive';

-- One row per record of every document: what it claims to know of a key. Where
-- the content lies is another matter: equal content is stored once.
CREATE TABLE warehouse.claim (
  position bigint NOT NULL, ordinal int NOT NULL,
  record_type text NOT NULL, claim uuid NOT NULL,
  centre text NOT NULL, natural_key text[] NOT NULL, subject text NOT NULL DEFAULT '',
  fingerprint uuid NOT NULL, content_position bigint NOT NULL, content_ordinal int NOT NULL,
  line int NOT NULL, col int NOT NULL, byte_from bigint NOT NULL, byte_to bigint NOT NULL,
  tombstone boolean NOT NULL, is_current boolean NOT NULL,
  PRIMARY KEY (position, ordinal)) WITH (fillfactor = 90);
CREATE INDEX claim_claim ON warehouse.claim (claim);
CREATE INDEX claim_content ON warehouse.claim (content_position, content_ordinal);
-- An expression, so that only who asks for all of a centre uses it: as an index
-- of columns it would tempt the planner, before there are statistics, to read
-- all of a centre for one key.
CREATE INDEX claim_current ON warehouse.claim ((centre || '/' || record_type)) WHERE is_current;
COMMENT ON TABLE warehouse.claim IS 'every claim that a document makes about a natural key; of the claims on a key one is current, or none';
COMMENT ON COLUMN warehouse.claim.position IS 'the document';
COMMENT ON COLUMN warehouse.claim.ordinal IS 'the record''s place among all rows of the document';
COMMENT ON COLUMN warehouse.claim.record_type IS 'the table of the record';
COMMENT ON COLUMN warehouse.claim.claim IS 'identity of the natural key, the table included';
COMMENT ON COLUMN warehouse.claim.centre IS 'the centre that produced the document';
COMMENT ON COLUMN warehouse.claim.natural_key IS 'the natural key as in the document, null where it says nothing';
COMMENT ON COLUMN warehouse.claim.subject IS 'what overview groups the record by; empty if by nothing';
COMMENT ON COLUMN warehouse.claim.fingerprint IS 'digest of the content: equal for equal content';
COMMENT ON COLUMN warehouse.claim.content_position IS 'the document whose rows hold the content: the first that claimed this of the key';
COMMENT ON COLUMN warehouse.claim.content_ordinal IS 'the record''s ordinal there';
COMMENT ON COLUMN warehouse.claim.line IS 'line of the record''s element in the document, from 1';
COMMENT ON COLUMN warehouse.claim.col IS 'column of the element, in bytes of UTF-8, from 1';
COMMENT ON COLUMN warehouse.claim.byte_from IS 'where the element begins in the document''s UTF-8 form';
COMMENT ON COLUMN warehouse.claim.byte_to IS 'the byte behind its end';
COMMENT ON COLUMN warehouse.claim.tombstone IS 'whether it says that the key is gone';
COMMENT ON COLUMN warehouse.claim.is_current IS 'whether this is what holds now: the greatest claim on its key that is not withdrawn, and no tombstone';

-- Narrow, and emptied at every batch end. Its key begins with what it is asked
-- for by.
CREATE TABLE warehouse.changed (
  position bigint NOT NULL, ordinal int NOT NULL, centre text NOT NULL, record_type text NOT NULL,
  PRIMARY KEY (centre, record_type, position, ordinal))
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE warehouse.changed IS 'claims that became current since the last batch end of their centre, or ceased to be';
COMMENT ON COLUMN warehouse.changed.position IS 'of the claim';
COMMENT ON COLUMN warehouse.changed.ordinal IS 'of the claim';
COMMENT ON COLUMN warehouse.changed.centre IS 'of the claim';
COMMENT ON COLUMN warehouse.changed.record_type IS 'of the claim';

CREATE TABLE warehouse.finding (
  position bigint NOT NULL, ordinal int NOT NULL, record int NOT NULL, test text NOT NULL,
  centre text NOT NULL, record_type text NOT NULL, subject text NOT NULL,
  level text NOT NULL CHECK (level IN ('info', 'warn', 'error')),
  line int NOT NULL, col int NOT NULL, message text NOT NULL, open boolean NOT NULL,
  PRIMARY KEY (position, ordinal, test));
CREATE INDEX finding_open ON warehouse.finding (centre, test) WHERE open;
CREATE INDEX finding_record ON warehouse.finding (position, record, test) WHERE open;
COMMENT ON TABLE warehouse.finding IS 'what data checks found in current records, and what follows from claims; an open one holds, a closed one did';
COMMENT ON COLUMN warehouse.finding.position IS 'the document';
COMMENT ON COLUMN warehouse.finding.ordinal IS 'the row''s place among all rows of the document';
COMMENT ON COLUMN warehouse.finding.record IS 'ordinal of the record that the row belongs to';
COMMENT ON COLUMN warehouse.finding.test IS 'stable name of the check';
COMMENT ON COLUMN warehouse.finding.centre IS 'the centre that produced the document';
COMMENT ON COLUMN warehouse.finding.record_type IS 'the table of the record';
COMMENT ON COLUMN warehouse.finding.subject IS 'what overview groups the record by';
COMMENT ON COLUMN warehouse.finding.level IS 'info, warn or error; an error makes the document (data, failed)';
COMMENT ON COLUMN warehouse.finding.line IS 'line in the document';
COMMENT ON COLUMN warehouse.finding.col IS 'column in the document; 0 if not known';
COMMENT ON COLUMN warehouse.finding.message IS 'for people';
COMMENT ON COLUMN warehouse.finding.open IS 'whether it holds';

CREATE TABLE warehouse.finding_count (
  centre text NOT NULL, record_type text NOT NULL, subject text NOT NULL, test text NOT NULL, level text NOT NULL,
  findings bigint NOT NULL,
  PRIMARY KEY (centre, record_type, subject, test, level));
COMMENT ON TABLE warehouse.finding_count IS 'numbers of open findings, kept with them';
COMMENT ON COLUMN warehouse.finding_count.centre IS 'of the findings';
COMMENT ON COLUMN warehouse.finding_count.record_type IS 'of the findings';
COMMENT ON COLUMN warehouse.finding_count.subject IS 'of the findings';
COMMENT ON COLUMN warehouse.finding_count.test IS 'of the findings';
COMMENT ON COLUMN warehouse.finding_count.level IS 'of the findings';
COMMENT ON COLUMN warehouse.finding_count.findings IS 'how many are open; never 0';

CREATE TABLE warehouse.recheck (
  centre text NOT NULL, test text NOT NULL, PRIMARY KEY (centre, test));
COMMENT ON TABLE warehouse.recheck IS 'checks that judge all current records of a centre at its next batch end, since what they compare with has changed';
COMMENT ON COLUMN warehouse.recheck.centre IS 'the centre';
COMMENT ON COLUMN warehouse.recheck.test IS 'the check';

CREATE TABLE warehouse.reference_load (
  name text PRIMARY KEY, position bigint NOT NULL, blob text NOT NULL, rows bigint NOT NULL, loaded_file text NOT NULL);
COMMENT ON TABLE warehouse.reference_load IS 'what the reference tables hold';
COMMENT ON COLUMN warehouse.reference_load.name IS 'the reference: its table is reference_NAME';
COMMENT ON COLUMN warehouse.reference_load.position IS 'place in the order at which it was loaded';
COMMENT ON COLUMN warehouse.reference_load.blob IS 'sha256 of the file';
COMMENT ON COLUMN warehouse.reference_load.rows IS 'rows of the file, without its header';
COMMENT ON COLUMN warehouse.reference_load.loaded_file IS 'name of the file, as it was given';

CREATE TABLE warehouse.operation_outcome (
  operation uuid PRIMARY KEY, position bigint NOT NULL, state text NOT NULL CHECK (state IN ('done', 'failed')), message text NOT NULL);
COMMENT ON TABLE warehouse.operation_outcome IS 'what became of what people asked for: unloads, loads of reference tables';
COMMENT ON COLUMN warehouse.operation_outcome.operation IS 'as control names it';
COMMENT ON COLUMN warehouse.operation_outcome.position IS 'its place in the order';
COMMENT ON COLUMN warehouse.operation_outcome.state IS 'done, or failed: it has changed nothing then';
COMMENT ON COLUMN warehouse.operation_outcome.message IS 'what was done, or why not, for people';

-- What the profile has made here.
CREATE TABLE warehouse.profile (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  name text NOT NULL, version text NOT NULL, digest text NOT NULL, tables text[] NOT NULL, views text[] NOT NULL);
COMMENT ON TABLE warehouse.profile IS 'the profile whose tables and views are here: one row';
COMMENT ON COLUMN warehouse.profile.one IS 'always true: there is one row';
COMMENT ON COLUMN warehouse.profile.name IS 'of the profile';
COMMENT ON COLUMN warehouse.profile.version IS 'of the profile';
COMMENT ON COLUMN warehouse.profile.digest IS 'of all that was applied: what is equal is not applied again';
COMMENT ON COLUMN warehouse.profile.tables IS 'names of its tables';
COMMENT ON COLUMN warehouse.profile.views IS 'names of its views';
